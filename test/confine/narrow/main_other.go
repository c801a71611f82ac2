//go:build !linux

package main

import "os"

func main() {
	_, _ = os.Stderr.WriteString("narrow: imitates Linux hosts only\n")
	os.Exit(99)
}
