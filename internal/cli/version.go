package cli

import (
	"fmt"
	"runtime"
)

// version is that of the next release; the changelog has its name.
const version = "0.1.0-dev"

type versionCommand struct{}

func (versionCommand) run(a *app) int {
	if _, err := fmt.Fprintf(a.stdout, "pdlt %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH); err != nil {
		return a.failed(&outletError{err}, false)
	}
	return exitOK
}
