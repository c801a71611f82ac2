// Package landlock knows which Landlock rights exist on which kernel, and asks the kernel which of them it has.
//
// It promises that a mask it returns for an ABI holds no bit which a kernel of that ABI refuses: the kernel answers
// EINVAL to unknown bits, and to directory rights in a rule for a file. It promises nothing about what is enforced:
// it restricts nothing itself, and chooses no paths. The masks are plain arithmetic and the same on every system;
// [ABI] asks the running kernel and is an error everywhere but on Linux.
package landlock

// MaxABI is the newest ABI whose rights this package knows. A newer kernel is treated as this one: it keeps all older
// rights, and rights it added are not asked for.
const MaxABI = 7

// Rights on files, for the handled_access_fs member of struct landlock_ruleset_attr and the allowed_access member of
// struct landlock_path_beneath_attr. Each is named after LANDLOCK_ACCESS_FS_* of linux/landlock.h.
const (
	AccessFSExecute    uint64 = 1 << 0  // LANDLOCK_ACCESS_FS_EXECUTE: execve; not mmap with PROT_EXEC
	AccessFSWriteFile  uint64 = 1 << 1  // LANDLOCK_ACCESS_FS_WRITE_FILE
	AccessFSReadFile   uint64 = 1 << 2  // LANDLOCK_ACCESS_FS_READ_FILE
	AccessFSReadDir    uint64 = 1 << 3  // LANDLOCK_ACCESS_FS_READ_DIR
	AccessFSRemoveDir  uint64 = 1 << 4  // LANDLOCK_ACCESS_FS_REMOVE_DIR
	AccessFSRemoveFile uint64 = 1 << 5  // LANDLOCK_ACCESS_FS_REMOVE_FILE
	AccessFSMakeChar   uint64 = 1 << 6  // LANDLOCK_ACCESS_FS_MAKE_CHAR
	AccessFSMakeDir    uint64 = 1 << 7  // LANDLOCK_ACCESS_FS_MAKE_DIR
	AccessFSMakeReg    uint64 = 1 << 8  // LANDLOCK_ACCESS_FS_MAKE_REG
	AccessFSMakeSock   uint64 = 1 << 9  // LANDLOCK_ACCESS_FS_MAKE_SOCK
	AccessFSMakeFifo   uint64 = 1 << 10 // LANDLOCK_ACCESS_FS_MAKE_FIFO
	AccessFSMakeBlock  uint64 = 1 << 11 // LANDLOCK_ACCESS_FS_MAKE_BLOCK
	AccessFSMakeSym    uint64 = 1 << 12 // LANDLOCK_ACCESS_FS_MAKE_SYM
	AccessFSRefer      uint64 = 1 << 13 // LANDLOCK_ACCESS_FS_REFER, from ABI 2
	AccessFSTruncate   uint64 = 1 << 14 // LANDLOCK_ACCESS_FS_TRUNCATE, from ABI 3
	AccessFSIoctlDev   uint64 = 1 << 15 // LANDLOCK_ACCESS_FS_IOCTL_DEV, from ABI 5
)

// Rights on the network, for the handled_access_net member. Each is named after LANDLOCK_ACCESS_NET_*.
const (
	AccessNetBindTCP    uint64 = 1 << 0 // LANDLOCK_ACCESS_NET_BIND_TCP, from ABI 4
	AccessNetConnectTCP uint64 = 1 << 1 // LANDLOCK_ACCESS_NET_CONNECT_TCP, from ABI 4
)

// Scopes, for the scoped member. Each is named after LANDLOCK_SCOPE_*.
const (
	ScopeAbstractUnixSocket uint64 = 1 << 0 // LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET, from ABI 6
	ScopeSignal             uint64 = 1 << 1 // LANDLOCK_SCOPE_SIGNAL, from ABI 6
)

// Flags of landlock_restrict_self, all from ABI 7. They say which refusals the audit log keeps and restrict nothing.
const (
	RestrictSelfLogSameExecOff   uint32 = 1 << 0 // LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF
	RestrictSelfLogNewExecOn     uint32 = 1 << 1 // LANDLOCK_RESTRICT_SELF_LOG_NEW_EXEC_ON
	RestrictSelfLogSubdomainsOff uint32 = 1 << 2 // LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF
)

// fileRights are the rights that a rule for something other than a directory may carry (ACCESS_FILE in the kernel's
// security/landlock/fs.c). Any other bit in such a rule is EINVAL.
const fileRights = AccessFSExecute | AccessFSWriteFile | AccessFSReadFile | AccessFSTruncate | AccessFSIoctlDev

// Rights are the three masks of a ruleset.
type Rights struct {
	FS    uint64 // handled_access_fs
	Net   uint64 // handled_access_net
	Scope uint64 // scoped
}

// Handled returns every right that a kernel of the given ABI can handle. A ruleset made with it refuses all of them
// where no rule allows. ABI 0 or less handles nothing; an ABI above [MaxABI] is treated as MaxABI.
func Handled(abi int) Rights {
	var r Rights
	if abi >= 1 {
		r.FS = AccessFSRefer - 1 // the 13 rights of ABI 1
	}
	if abi >= 2 {
		r.FS |= AccessFSRefer
	}
	if abi >= 3 {
		r.FS |= AccessFSTruncate
	}
	if abi >= 4 {
		r.Net |= AccessNetBindTCP | AccessNetConnectTCP
	}
	if abi >= 5 {
		r.FS |= AccessFSIoctlDev
	}
	if abi >= 6 {
		r.Scope |= ScopeAbstractUnixSocket | ScopeSignal
	}
	return r
}

// AttrSize returns the size of struct landlock_ruleset_attr that a kernel of the given ABI knows. A larger one is
// accepted too, as long as what follows is zero.
func AttrSize(abi int) int {
	switch {
	case abi < 1:
		return 0
	case abi < 4:
		return 8
	case abi < 6:
		return 16
	default:
		return 24
	}
}

// ReadOnly returns the rights to read: files, and below a directory also to list. dir says whether the rule's path is
// a directory.
func ReadOnly(abi int, dir bool) uint64 {
	return mask(AccessFSReadFile|AccessFSReadDir, abi, dir)
}

// ReadExec returns [ReadOnly] and the right to execute.
func ReadExec(abi int, dir bool) uint64 {
	return mask(AccessFSReadFile|AccessFSReadDir|AccessFSExecute, abi, dir)
}

// ReadWrite returns [ReadOnly] and the rights to write, truncate, create, remove, link and rename. It has no right to
// execute, to make device nodes, or to send device-specific ioctls: with ABI 5 and later an ioctl such as TCGETS on a
// device below the path is EACCES, on a regular file or pipe it is not affected.
//
// Before ABI 3 no right governs truncation: whoever can name a file below any path can truncate it as far as mounts
// and modes let him. Before ABI 2 linking and renaming between directories is always refused.
func ReadWrite(abi int, dir bool) uint64 {
	return mask(AccessFSReadFile|AccessFSReadDir|AccessFSWriteFile|AccessFSTruncate|
		AccessFSMakeDir|AccessFSMakeReg|AccessFSMakeSock|AccessFSMakeFifo|AccessFSMakeSym|
		AccessFSRemoveDir|AccessFSRemoveFile|AccessFSRefer, abi, dir)
}

func mask(want uint64, abi int, dir bool) uint64 {
	want &= Handled(abi).FS
	if !dir {
		want &= fileRights
	}
	return want
}
