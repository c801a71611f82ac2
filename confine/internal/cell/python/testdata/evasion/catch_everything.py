"""An endless loop inside handlers."""
while True:
    try:
        while True:
            pass
    except BaseException:
        continue
    finally:
        pass
