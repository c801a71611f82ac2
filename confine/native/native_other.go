//go:build !linux || !cgo

package native

import (
	"fmt"
	"runtime"

	"pdlt.dev/pdlt/confine"
)

// Open refuses: this build has no native backend for its system.
func Open(o confine.Options) (confine.Confiner, error) {
	if _, err := checkOptions(o); err != nil {
		return nil, err
	}
	return nil, &confine.Refusal{Code: confine.CodeBackendUnavailable, Path: "$.sandbox", Found: fmt.Sprintf("a build for %s without the native backend", runtime.GOOS),
		Required: "Linux and a build with cgo", Unsupported: true}
}
