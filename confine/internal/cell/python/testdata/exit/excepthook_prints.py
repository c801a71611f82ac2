import sys
sys.excepthook = lambda t, v, tb: print("hook", t, v, tb.tb_lineno)
1 / 0
