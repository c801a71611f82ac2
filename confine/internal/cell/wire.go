package cell

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"syscall"
	"unsafe"
)

// magic is CELL_MAGIC.
const magic = 0x70646c74

// Stage is CELL_STAGE: the argv[0] under which this binary is a launcher.
const Stage = "pdlt:stage"

// SO is CELL_SO: where the native helper of the interpreter is bound inside the root.
const SO = "/lib/pdlt-cell.so"

// Flags of a configuration.
const (
	Zygote = 1 << iota
	_      // CELL_USERNS_FIRST: Go makes that namespace when it starts the launcher
	Python
	Native
	Processes
	Hints
	HostPython
)

// Kinds of [Mount].
const (
	MountBind = iota + 1
	MountDir
	MountLink
	MountFile
)

// Mount is one entry of the template root.
type Mount struct {
	Kind   uint32
	Flags  uint32 // MS_* of a bind
	Source string // host path, link target, or content
	Target string // inside the root
}

// Rule is one Landlock path rule inside the root.
type Rule struct {
	Access uint64
	Path   string
}

// Filter is a loaded-raw seccomp program: sock_filter values of eight bytes each.
type Filter []uint64

// LargePage is CELL_LARGE_PAGE.
const LargePage = 2 << 20

// Block is a large page of the interpreter's text: Offset is where its bytes are in the file that [Launch] is given.
type Block struct {
	Address, Offset uint64
	Exec            uint32
	_               uint32
}

// Config is everything a launcher is told, once.
type Config struct {
	Flags                                  uint32
	HostUID, HostGID                       uint32
	LandlockABI                            uint32
	LandlockFS, LandlockNet, LandlockScope uint64
	Mounts                                 []Mount
	Rules                                  []Rule
	Outer, Inner                           Filter
	Blocks                                 []Block
	Interpreter, PythonHome, Stdlib, Tier  string
	Env                                    []string // of every program
	HashSeed                               string
}

// header mirrors struct cell_config.
type header struct {
	Magic, Size                            uint32
	Flags                                  uint32
	HostUID, HostGID                       uint32
	LandlockABI                            uint32
	LandlockFS, LandlockNet, LandlockScope uint64
	NMounts, Mounts                        uint32
	NRules, Rules                          uint32
	OuterLen, Outer                        uint32
	InnerLen, Inner                        uint32
	NBlocks, Blocks                        uint32
	Interpreter, PythonHome, Stdlib, Tier  uint32
	HashSeed, Env                          uint32
}

// Encode lays the configuration out as struct cell_config with its tables and strings behind it.
func (c Config) Encode() []byte {
	var h header
	headerSize := int(unsafe.Sizeof(h))
	mounts := headerSize
	rules := mounts + 16*len(c.Mounts)
	outer := rules + 16*len(c.Rules)
	inner := outer + 8*len(c.Outer)
	blocks := inner + 8*len(c.Inner)
	text := blocks + int(unsafe.Sizeof(Block{}))*len(c.Blocks)
	var texts bytes.Buffer
	str := func(s string) uint32 {
		off := text + texts.Len()
		texts.WriteString(s)
		texts.WriteByte(0)
		return uint32(off)
	}
	h = header{Magic: magic, Flags: c.Flags, HostUID: c.HostUID, HostGID: c.HostGID, LandlockABI: c.LandlockABI,
		LandlockFS: c.LandlockFS, LandlockNet: c.LandlockNet, LandlockScope: c.LandlockScope,
		NMounts: uint32(len(c.Mounts)), Mounts: uint32(mounts), NRules: uint32(len(c.Rules)), Rules: uint32(rules),
		OuterLen: uint32(len(c.Outer)), Outer: uint32(outer), InnerLen: uint32(len(c.Inner)), Inner: uint32(inner), NBlocks: uint32(len(c.Blocks)), Blocks: uint32(blocks),
		Interpreter: str(c.Interpreter), PythonHome: str(c.PythonHome), Stdlib: str(c.Stdlib), Tier: str(c.Tier), HashSeed: str(c.HashSeed),
		Env: str(strings.Join(c.Env, "\x00") + "\x00")}
	var tables bytes.Buffer
	put := func(v any) { _ = binary.Write(&tables, binary.NativeEndian, v) } // a bytes.Buffer never fails
	for _, m := range c.Mounts {
		put([]uint32{m.Kind, m.Flags, str(m.Source), str(m.Target)})
	}
	for _, r := range c.Rules {
		put(r.Access)
		put([]uint32{str(r.Path), 0})
	}
	put([]uint64(c.Outer))
	put([]uint64(c.Inner))
	put(c.Blocks)
	h.Size = uint32(text + texts.Len())
	var out bytes.Buffer
	_ = binary.Write(&out, binary.NativeEndian, h)
	out.Write(tables.Bytes())
	out.Write(texts.Bytes())
	return out.Bytes()
}

// prepare mirrors struct cell_prepare.
type prepare struct {
	Magic, Inodes uint32
	DiskBytes     uint64
}

// Kinds of message.
const (
	msgUp = iota + 1
	msgCell
	msgDone
	msgFail
)

// message mirrors struct cell_message.
type message struct {
	Magic, Kind uint32
	PID, Err    int32
	Step        [40]byte
	Death
}

// Death is what the launcher knows of a cell that ended: every process of it is dead.
type Death struct {
	InitStatus   int32 // wait status of the init
	HasStatus    int32 // 0: the init died before it could reap the program
	Status       int32 // wait status of the program
	DiskFull     uint32
	DiskUsed     uint64
	InodesUsed   uint64
	CPUMicros    uint64
	MaxRSS       uint64
	Steps        uint64
	Counted      uint32
	StepsStopped uint32
	Tamper       uint32
	Denied       uint32
	Uncaught     uint32
	_            uint32
	RefusedAlloc uint64
	NoSpace      uint32
	NoSpaceErrno uint32
}

// Values of Death.Uncaught.
const (
	UncaughtNone = iota
	UncaughtOther
	UncaughtMemory
	UncaughtNoSpace
	UncaughtDenied
)

// Ready is what a program process read back from the kernel after it locked itself down.
type Ready struct {
	magic       uint32
	err         int32
	step        [40]byte
	NoNewPrivs  uint32
	Seccomp     uint32
	LandlockABI uint32
	UID         uint32
	GID         uint32
	EUID        uint32
	Groups      uint32
	Caps        uint32
	NS          [7]uint64 // user, mnt, pid, net, ipc, uts, cgroup
	CPUMicros   uint64    // used so far, by the start of an interpreter that was not forked
	python      [16]byte
}

// Python is the interpreter's version, or empty.
func (r *Ready) Python() string { return text(r.python[:]) }

// Failure of a cell that could not be locked down; nil when it could.
func (r *Ready) failure() error {
	if r.magic != magic {
		return fmt.Errorf("cell: not a ready message")
	}
	if r.err != 0 {
		return &StepError{Step: text(r.step[:]), Errno: r.err}
	}
	return nil
}

// request mirrors struct cell_request.
type request struct {
	Magic, Flags                 uint32
	Steps                        uint64
	AS, FSize, Stack             uint64
	NoFile, NProc, CPUSeconds, _ uint32
	NArgs, NEnv, NFiles, Entry   uint32
}

// Request is one program as its cell receives it.
type Request struct {
	Count         bool   // count steps
	Steps         uint64 // limit; 0 = none
	AS, FSize     uint64 // rlimits in bytes; 0 = leave
	Stack         uint64
	NoFile, NProc uint32
	CPUSeconds    uint32
	Args, Env     []string
	Files         []RequestFile
	Entry         int
}

// RequestFile is one file of a request.
type RequestFile struct {
	Name string
	Mode uint32
	Data []byte
}

// Encode gives the request as buffers to be written in order; file contents are not copied.
func (q Request) Encode() [][]byte {
	r := request{Magic: magic, Steps: q.Steps, AS: q.AS, FSize: q.FSize, Stack: q.Stack, NoFile: q.NoFile, NProc: q.NProc, CPUSeconds: q.CPUSeconds,
		NArgs: uint32(len(q.Args)), NEnv: uint32(len(q.Env)), NFiles: uint32(len(q.Files)), Entry: uint32(q.Entry)}
	if q.Count {
		r.Flags = 1
		if r.Steps == 0 {
			r.Steps = math.MaxUint64
		}
	}
	b := append([]byte(nil), unsafe.Slice((*byte)(unsafe.Pointer(&r)), unsafe.Sizeof(r))...)
	for _, list := range [][]string{q.Args, q.Env} {
		for _, s := range list {
			b = append(binary.NativeEndian.AppendUint32(b, uint32(len(s))), s...)
		}
	}
	out := [][]byte{b}
	for _, f := range q.Files {
		var h []byte
		h = append(binary.NativeEndian.AppendUint32(h, uint32(len(f.Name))), f.Name...)
		h = binary.NativeEndian.AppendUint32(h, f.Mode)
		h = binary.NativeEndian.AppendUint64(h, uint64(len(f.Data)))
		out[len(out)-1] = append(out[len(out)-1], h...)
		if len(f.Data) < 1<<16 { // small files ride along in one write
			out[len(out)-1] = append(out[len(out)-1], f.Data...)
			continue
		}
		out = append(out, f.Data, nil)
	}
	return out
}

func text(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}

// StepError is a step of building a cell that the kernel refused.
type StepError struct {
	Step  string // as launch.c names it
	Errno int32
}

// Error names the step and what the kernel answered.
func (e *StepError) Error() string {
	return fmt.Sprintf("%s: %s", e.Step, syscall.Errno(e.Errno).Error())
}

// Unwrap gives the errno.
func (e *StepError) Unwrap() error { return syscall.Errno(e.Errno) }
