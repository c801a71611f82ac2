package landlock

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// ABI asks the running kernel for its Landlock ABI, 1 or more. With 0 comes an error that satisfies
// errors.Is(err, errors.ErrUnsupported), wraps the kernel's errno and says in words why there is none.
//
// The answer may be above [MaxABI]. It is that of the calling thread: a seccomp filter may refuse the question.
func ABI() (int, error) {
	v, _, errno := unix.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch {
	case errno != 0:
		return 0, noLandlock(errno)
	case int(v) < 1:
		return 0, fmt.Errorf("ask for the landlock abi: kernel answered %d: %w", int(v), errors.ErrUnsupported)
	}
	return int(v), nil
}

func noLandlock(errno unix.Errno) error {
	why := "refused"
	switch errno {
	case unix.ENOSYS:
		why = "the kernel was built without Landlock"
	case unix.EOPNOTSUPP:
		why = "Landlock is built in but not switched on (boot parameter lsm=)"
	case unix.EPERM, unix.EACCES:
		why = "an outer sandbox refuses the call"
	}
	return fmt.Errorf("ask for the landlock abi: %s: %w (%w)", why, errno, errors.ErrUnsupported)
}
