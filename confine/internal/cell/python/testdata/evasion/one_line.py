"""An endless loop of one line."""
while True: pass
