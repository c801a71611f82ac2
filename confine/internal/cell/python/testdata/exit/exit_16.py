import sys
print("out")
sys.exit("é\ud800")
