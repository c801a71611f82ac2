// Package python is the side of a cell that lives in the interpreter, written in C. Its files are compiled with launch.c into one
// shared object, which a stock CPython loads before its own main function; the Go tool builds nothing of it. This package
// holds the tests: a stand-in for the launcher that confines nothing, a corpus whose step counts must agree with a
// counter in pure Python, evasions that must cost their steps, and exits that must look like the stock interpreter's.
package python
