import json
json.loads("{bad")
