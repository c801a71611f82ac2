// Command pdlt runs programs that nobody trusts: confined by the operating system, within a stated budget, with a true report of
// what was enforced and why the program stopped.
package main

import (
	"os"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/internal/cli"
)

func main() {
	confine.Stage()
	os.Exit(cli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
