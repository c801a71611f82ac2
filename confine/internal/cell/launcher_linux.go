package cell

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrGone is returned when the launcher died or closed its socket.
var ErrGone = errors.New("the launcher is gone")

// Launcher is a running launcher. It builds one cell at a time. Its methods are for one goroutine.
type Launcher struct {
	cmd     *exec.Cmd
	control int
	exited  chan struct{}
}

// Launch starts this binary as a launcher with the configuration. userns puts it into a user namespace of its own, in which it is root, for callers that
// are not. text holds the blocks of c; nil when it has none. joined is called with the launcher's pid before it may do anything that matters; its error stops the launch.
// The template stands when Launch returns nil, and a zygote's interpreter is up.
func Launch(c Config, text *os.File, userns bool, joined func(pid int) error, timeout time.Duration) (*Launcher, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("make control socket: %w", err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "control")
	defer theirs.Close()
	blob, err := memfd(c.Encode())
	if err != nil {
		unix.Close(pair[0])
		return nil, err
	}
	defer blob.Close()
	cmd := &exec.Cmd{Path: "/proc/self/exe", Args: []string{Stage}, Env: []string{}, Dir: "/", ExtraFiles: []*os.File{theirs, blob},
		SysProcAttr: &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID, Setsid: true}}
	if text != nil {
		cmd.ExtraFiles = append(cmd.ExtraFiles, text)
	}
	if userns {
		cmd.SysProcAttr.Cloneflags |= unix.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
	}
	if err := cmd.Start(); err != nil {
		unix.Close(pair[0])
		var errno syscall.Errno
		if errors.As(err, &errno) {
			return nil, &StepError{Step: "clone launcher", Errno: int32(errno)}
		}
		return nil, fmt.Errorf("start launcher: %w", err)
	}
	l := &Launcher{cmd: cmd, control: pair[0], exited: make(chan struct{})}
	go func() { _ = cmd.Wait(); close(l.exited) }()
	if joined != nil {
		if err := joined(cmd.Process.Pid); err != nil {
			l.Close()
			return nil, err
		}
	}
	m, _, err := l.receive(timeout)
	if err == nil && m.Kind != msgUp {
		err = fmt.Errorf("launcher said %d before it was up", m.Kind)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	return l, nil
}

func memfd(b []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("config", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("hold configuration: %w", err)
	}
	f := os.NewFile(uintptr(fd), "config")
	_, err = f.Write(b)
	if err == nil {
		_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("hold configuration: %w", err)
	}
	return f, nil
}

// Control is the descriptor to poll for a death or the launcher's end.
func (l *Launcher) Control() int { return l.control }

// PID is the launcher's process id as seen from here.
func (l *Launcher) PID() int { return l.cmd.Process.Pid }

// Cell is a cell that was asked for. Its descriptors are the caller's to close, with Close.
type Cell struct {
	PIDFD   int // of the init: killing it kills the cell
	Request int
	Out     int
	Err     int
}

// Kill kills the whole cell.
func (c *Cell) Kill() { _ = unix.PidfdSendSignal(c.PIDFD, unix.SIGKILL, nil, 0) }

// Close closes what is still open.
func (c *Cell) Close() {
	for _, fd := range []*int{&c.PIDFD, &c.Request, &c.Out, &c.Err} {
		if *fd >= 0 {
			unix.Close(*fd)
			*fd = -1
		}
	}
}

// HostPID is the pid of the cell's init as seen from here, or 0 when it is gone.
func (c *Cell) HostPID() int {
	var pid int
	b, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", c.PIDFD))
	if err != nil {
		return 0
	}
	for len(b) > 0 {
		if n, _ := fmt.Sscanf(string(b), "Pid:\t%d", &pid); n == 1 && pid > 0 {
			return pid
		}
		i := 0
		for i < len(b) && b[i] != '\n' {
			i++
		}
		if i == len(b) {
			break
		}
		b = b[i+1:]
	}
	return 0
}

// Ask asks for the next cell without waiting for it. cgroup is a cgroup v2 folder for it to be born in, or -1.
func (l *Launcher) Ask(diskBytes int64, inodes int64, cgroup int) error {
	p := prepare{Magic: magic, Inodes: uint32(min(inodes, 1<<30)), DiskBytes: uint64(diskBytes)}
	b := unsafe.Slice((*byte)(unsafe.Pointer(&p)), unsafe.Sizeof(p))
	var oob []byte
	if cgroup >= 0 {
		oob = unix.UnixRights(cgroup)
	}
	if err := unix.Sendmsg(l.control, b, oob, nil, unix.MSG_NOSIGNAL); err != nil {
		return ErrGone
	}
	return nil
}

// Take waits for the cell that was asked for.
func (l *Launcher) Take(timeout time.Duration) (*Cell, error) {
	m, fds, err := l.receive(timeout)
	if err != nil {
		return nil, err
	}
	if m.Kind != msgCell || len(fds) != 4 {
		for _, fd := range fds {
			unix.Close(fd)
		}
		return nil, fmt.Errorf("launcher answered %d with %d descriptors to a request for a cell", m.Kind, len(fds))
	}
	return &Cell{PIDFD: fds[0], Request: fds[1], Out: fds[2], Err: fds[3]}, nil
}

// Death reads the death message that Control announced. It does not block for long.
func (l *Launcher) Death(timeout time.Duration) (Death, error) {
	m, _, err := l.receive(timeout)
	if err != nil {
		return Death{}, err
	}
	if m.Kind != msgDone {
		return Death{}, fmt.Errorf("launcher said %d in place of a death", m.Kind)
	}
	return m.Death, nil
}

func (l *Launcher) receive(timeout time.Duration) (message, []int, error) {
	var m message
	if err := await(l.control, unix.POLLIN, timeout); err != nil {
		return m, nil, err
	}
	b := unsafe.Slice((*byte)(unsafe.Pointer(&m)), unsafe.Sizeof(m))
	var oob [64]byte // four descriptors: CMSG_SPACE(16) = 32
	n, oobn, _, _, err := retryRecvmsg(l.control, b, oob[:])
	if err != nil || n == 0 {
		return m, nil, ErrGone
	}
	if n != len(b) || m.Magic != magic {
		return m, nil, fmt.Errorf("launcher sent %d bytes in place of %d", n, len(b))
	}
	var fds []int
	if oobn > 0 {
		cmsgs, err := unix.ParseSocketControlMessage(oob[:oobn])
		if err == nil && len(cmsgs) > 0 {
			fds, _ = unix.ParseUnixRights(&cmsgs[0])
		}
	}
	if m.Kind == msgFail {
		return m, fds, &StepError{Step: text(m.Step[:]), Errno: m.Err}
	}
	return m, fds, nil
}

func retryRecvmsg(fd int, b, oob []byte) (n, oobn, flags int, from unix.Sockaddr, err error) {
	for {
		n, oobn, flags, from, err = unix.Recvmsg(fd, b, oob, unix.MSG_CMSG_CLOEXEC)
		if err != unix.EINTR {
			return
		}
	}
}

// ErrTimeout is returned when a launcher or cell did not answer in time.
var ErrTimeout = errors.New("no answer in time")

func await(fd int, events int16, timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	for {
		left := max(0, time.Until(deadline)) // 0 still looks once
		ts := unix.NsecToTimespec(int64(left))
		p := []unix.PollFd{{Fd: int32(fd), Events: events}}
		n, err := unix.Ppoll(p, &ts, nil)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return fmt.Errorf("poll: %w", err)
		}
		if n > 0 {
			return nil
		}
		if left == 0 {
			return ErrTimeout
		}
	}
}

// Ready reads the cell's ready message, waiting for it at most timeout; a failed step is a *StepError. An init that died before is ErrGone.
func (c *Cell) Ready(timeout time.Duration) (*Ready, error) {
	var r Ready
	b := unsafe.Slice((*byte)(unsafe.Pointer(&r)), unsafe.Sizeof(r))
	for got := 0; got < len(b); {
		if err := await(c.Request, unix.POLLIN, timeout); err != nil {
			return nil, err
		}
		n, err := unix.Read(c.Request, b[got:])
		if err == unix.EINTR {
			continue
		}
		if err != nil || n == 0 {
			return nil, ErrGone
		}
		got += n
	}
	if err := r.failure(); err != nil {
		return nil, err
	}
	return &r, nil
}

// Close ends the launcher and with it every cell it made, and waits until it is gone.
func (l *Launcher) Close() {
	if l.control >= 0 {
		unix.Close(l.control)
		l.control = -1
	}
	_ = l.cmd.Process.Kill()
	<-l.exited
}

// Gone is closed when the launcher has died and was reaped.
func (l *Launcher) Gone() <-chan struct{} { return l.exited }
