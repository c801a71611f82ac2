raise ValueError("é😀\ud800")
