import sys
sys.stdot
