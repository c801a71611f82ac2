from os import nothing_like_this
