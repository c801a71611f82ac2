//go:build linux && cgo

package native

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"runtime"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/confine/internal/cell"
	"pdlt.dev/pdlt/confine/internal/cgroup"
)

// deathGrace is how long a killed cell may take to be reported dead before its launcher is given up: the kernel has to tear down what
// the program built.
const deathGrace = 10 * time.Second

// firstWords is how long a program is not listened to. What most programs print waits in the pipe until they have ended, and the supervisor is
// woken once for both; who prints more than a pipe holds waits no longer than this.
const firstWords = 2 * time.Millisecond

// request lays a program and its limits out for its cell.
func (s *slot) request(spec confine.Spec, l confine.Limits, ready *cell.Ready) cell.Request {
	p := spec.Program
	q := cell.Request{Count: l.Steps > 0, Steps: l.Steps, FSize: uint64(l.FileBytes), NoFile: uint32(l.OpenFiles), Stack: 8 << 20,
		// The kernel's limit counts the interpreter's start too, and whole seconds: it never ends a program before its own limit.
		CPUSeconds: uint32(math.Ceil(l.CPU.Seconds() + float64(ready.CPUMicros)/1e6)), Env: append(append([]string(nil), fixedEnv...), p.Env...)}
	if s.cg == nil {
		// Without a cgroup the address space is the memory limit; the init counts as a process of the same user.
		q.AS, q.NProc = uint64(l.MemoryBytes), uint32(l.Processes)+1
	} else {
		// Address space is not memory: a backstop against mapping without end, far above what honest programs reserve.
		q.AS = uint64(max(64<<30, 16*l.MemoryBytes))
		// The supervisor counts to the microsecond; RLIMIT_CPU counts by ticks, up to a fifth too many on a busy machine, and must not come first.
		q.CPUSeconds++
	}
	for i, f := range p.Files {
		mode := uint32(f.Mode.Perm())
		if mode == 0 {
			mode = 0o644
		}
		q.Files = append(q.Files, cell.RequestFile{Name: f.Name, Mode: mode, Data: f.Data})
		if f.Name == p.Entry {
			q.Entry = i
		}
	}
	q.Args = p.Argv
	if p.Entry != "" {
		q.Args = append([]string{path.Clean(p.Entry)}, p.Argv...)
	}
	return q
}

// supervise runs one program in the slot's cell. One goroutine on one thread watches everything: a single poll over the request, the two
// streams, the launcher and the caller's cancellation, with the nearest deadline. The error is a fault or a refusal: nothing of the program ran. broken
// says that the slot cannot be used again.
func (s *slot) supervise(ctx context.Context, spec confine.Spec, l confine.Limits) (e ending, out [2]confine.Stream, wall time.Duration, ready *cell.Ready, broken bool, err error) {
	e = ending{limits: l, counted: l.Steps > 0, byRlimit: s.cg == nil}
	c, err := s.take(l)
	if err != nil {
		return e, out, 0, nil, true, stepRefusal(err)
	}
	defer c.Close()
	abandon := func(err error) (ending, [2]confine.Stream, time.Duration, *cell.Ready, bool, error) {
		c.Kill()
		_, deathErr := s.launcher.Death(deathGrace)
		return e, out, 0, nil, deathErr != nil, err
	}
	ready, err = c.Ready(setupTimeout)
	if err == nil {
		err = s.verify(ready)
	}
	if err != nil {
		return abandon(stepRefusal(err))
	}
	if s.cg != nil {
		if err := s.charge(l); err != nil {
			return abandon(err)
		}
	}
	if err := ctx.Err(); err != nil {
		return abandon(err)
	}
	stopWatching := context.AfterFunc(ctx, func() { _, _ = unix.Write(s.wake, []byte{1, 0, 0, 0, 0, 0, 0, 0}) })
	defer func() {
		// When the callback has begun it may write at any time: only a slot nobody cancelled keeps its eventfd.
		if !stopWatching() {
			broken = true
		}
	}()

	keep := [2]*keeper{{keep: int(l.OutputBytes)}, {keep: int(l.OutputBytes)}}
	taps := [2]io.Writer{spec.Stdout, spec.Stderr}
	pending := s.request(spec, l, ready).Encode()
	for _, fd := range []int{c.Out, c.Err} {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, unix.O_NONBLOCK); err != nil {
			return abandon(fmt.Errorf("set non-blocking: %w", err))
		}
	}
	begin := time.Now()
	if pending, err = send(c.Request, pending); err != nil {
		pending, err = nil, nil // the process is gone; its death says why
	}
	deadline := begin.Add(l.Wall)
	cpuCheck := begin.Add(cpuWait(l.CPU))
	kill := func(why confine.Stopped, observed int64) {
		if e.killed == "" {
			e.killed, e.observed = why, observed
			c.Kill()
			deadline = time.Now().Add(deathGrace)
		}
	}
	request := int32(c.Request)
	if len(pending) == 0 {
		request = -1
	}
	fds := [5]unix.PollFd{{Fd: request, Events: unix.POLLOUT}, {Fd: -1, Events: unix.POLLIN}, {Fd: -1, Events: unix.POLLIN},
		{Fd: int32(s.launcher.Control()), Events: unix.POLLIN}, {Fd: int32(s.wake), Events: unix.POLLIN}}
	streams, listening := [2]int{c.Out, c.Err}, begin.Add(firstWords) // -1: the stream has ended
	dead := false
	for !dead {
		next := deadline
		if e.killed == "" && cpuCheck.Before(next) {
			next = cpuCheck
		}
		if !listening.IsZero() && listening.Before(next) {
			next = listening
		}
		ts := unix.NsecToTimespec(max(0, int64(time.Until(next))))
		n, perr := unix.Ppoll(fds[:], &ts, nil)
		if perr != nil && perr != unix.EINTR {
			c.Kill()
			return e, out, 0, ready, true, fmt.Errorf("poll: %w", perr)
		}
		if n <= 0 {
			now := time.Now()
			if !listening.IsZero() && !now.Before(listening) {
				fds[1].Fd, fds[2].Fd, listening = int32(streams[0]), int32(streams[1]), time.Time{}
				continue
			}
			if e.killed != "" {
				if now.After(deadline) {
					e.lost = true // the kernel did not finish the kill: nothing more may be said, and the slot is given up
					break
				}
				continue
			}
			if !now.Before(deadline) {
				kill(confine.StoppedWall, now.Sub(begin).Milliseconds())
			} else if !now.Before(cpuCheck) && s.cg != nil {
				used := s.usage().CPU
				if used >= l.CPU {
					kill(confine.StoppedCPU, used.Milliseconds())
				}
				cpuCheck = now.Add(cpuWait(l.CPU - used))
			} else if !now.Before(cpuCheck) {
				cpuCheck = deadline // without a cgroup the kernel's RLIMIT_CPU counts
			}
			continue
		}
		if fds[0].Revents != 0 {
			if pending, err = send(c.Request, pending); err != nil {
				pending, err = nil, nil
			}
			if len(pending) == 0 {
				fds[0].Fd = -1
			}
		}
		for i := range keep {
			if fds[1+i].Revents != 0 {
				if eof := s.drain(streams[i], keep[i], taps[i], 1<<20); eof {
					fds[1+i].Fd, streams[i] = -1, -1
				}
				if keep[i].total > l.FloodBytes {
					kill(confine.StoppedOutput, keep[i].total)
				}
			}
		}
		if fds[4].Revents != 0 {
			kill(confine.StoppedCancelled, 0)
			fds[4].Fd = -1
		}
		if fds[3].Revents != 0 {
			e.death, err = s.launcher.Death(time.Second)
			if err != nil {
				e.lost, err = true, nil
			}
			dead = true
		}
	}
	wall = time.Since(begin)
	// A process that could not write the program's files said so before it ended.
	if !e.lost && e.death.HasStatus != 0 {
		if _, rerr := c.Ready(0); rerr != nil && !errors.Is(rerr, cell.ErrGone) && !errors.Is(rerr, cell.ErrTimeout) {
			return e, out, 0, ready, false, programRefusal(rerr, l)
		}
	}
	// Everything that could write is dead: what is left in the pipes is all there is.
	for i := range keep {
		if streams[i] >= 0 && !e.lost {
			s.drain(streams[i], keep[i], taps[i], math.MaxInt64)
		}
		out[i] = keep[i].stream()
	}
	e.cpuMicros = max(0, int64(e.death.CPUMicros)-int64(ready.CPUMicros))
	e.peak = int64(e.death.MaxRSS)
	if s.cg != nil {
		u := s.usage()
		e.oomKills, e.pidsHit, e.peak = u.OOMKills, u.PidsMaxEvents, max(0, u.MemoryPeak-s.base)
		e.cpuMicros = u.CPU.Microseconds() // of every process, also those that nobody waited for
		if u.PidsPeak > 0 {
			peak := u.PidsPeak - 1 // the init
			if !s.cg.PerCell() {
				peak--
			}
			e.pidsPeak = &peak
		}
	}
	return e, out, wall, ready, e.lost || e.oomKills > 0, nil
}

// cpuWait is the shortest time in which left can be used up: by every processor at once.
func cpuWait(left time.Duration) time.Duration {
	return max(left/time.Duration(runtime.NumCPU()), 2*time.Millisecond)
}

// send writes as much as the socket takes and gives what is left.
func send(fd int, bufs [][]byte) ([][]byte, error) {
	for len(bufs) > 0 {
		if len(bufs[0]) == 0 {
			bufs = bufs[1:]
			continue
		}
		n, err := unix.SendmsgN(fd, bufs[0], nil, nil, unix.MSG_NOSIGNAL|unix.MSG_DONTWAIT)
		switch {
		case err == unix.EAGAIN:
			return bufs, nil
		case err == unix.EINTR:
		case err != nil:
			return nil, err
		default:
			bufs[0] = bufs[0][n:]
		}
	}
	return nil, nil
}

// drain reads what is there, at most about limit bytes, and reports the end of the stream.
func (s *slot) drain(fd int, k *keeper, tap io.Writer, limit int64) bool {
	for got := int64(0); got < limit; {
		n, err := unix.Read(fd, s.buf)
		if err == unix.EINTR {
			continue
		}
		if err == unix.EAGAIN {
			return false
		}
		if err != nil || n == 0 {
			return true
		}
		_, _ = k.Write(s.buf[:n])
		if tap != nil {
			_, _ = tap.Write(s.buf[:n])
		}
		got += int64(n)
	}
	return false
}

// programRefusal explains a program that its own limits leave no room for.
func programRefusal(err error, l confine.Limits) error {
	var step *cell.StepError
	if errors.As(err, &step) && (step.Errno == int32(unix.ENOSPC) || step.Errno == int32(unix.EDQUOT)) {
		return &confine.Refusal{Code: confine.CodeProgramInvalid, Path: "$.program.files", Found: "more than fits", Required: fmt.Sprintf("files within disk limit of %d bytes and %d inodes", l.DiskBytes, l.Inodes)}
	}
	return fmt.Errorf("deliver program: %w", err)
}

// verify compares what the program process read back from the kernel with what was asked. A difference is no run.
func (s *slot) verify(r *cell.Ready) error {
	for i, ns := range r.NS {
		if ns == 0 || ns == s.own[i] {
			return fmt.Errorf("cell shares namespace %s with the server", namespaceNames[i])
		}
	}
	if r.Seccomp != 2 || r.NoNewPrivs != 1 || r.Caps != 0 || r.UID != 1000 || r.EUID != 1000 || r.GID != 1000 {
		return fmt.Errorf("cell is not locked down: seccomp %d, no_new_privs %d, capabilities %d, uid %d/%d, gid %d", r.Seccomp, r.NoNewPrivs, r.Caps, r.UID, r.EUID, r.GID)
	}
	if r.Groups != 0 && !s.groups {
		return fmt.Errorf("cell keeps %d groups of the server", r.Groups)
	}
	return nil
}

// keepsGroups reports whether programs show the groups of the user who runs them, as nobody's: nobody may drop groups in a user namespace whose
// maker could not.
func keepsGroups(userns bool) bool {
	b, err := os.ReadFile("/proc/self/setgroups")
	return userns || err == nil && strings.TrimSpace(string(b)) == "deny"
}

var namespaceNames = [7]string{"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"}

// ownNamespaces are the inode numbers of this process's namespaces.
func ownNamespaces() (ns [7]uint64) {
	for i, name := range namespaceNames {
		var st unix.Stat_t
		if unix.Stat("/proc/self/ns/"+name, &st) == nil {
			ns[i] = st.Ino
		}
	}
	return ns
}

// charge sets the run's cgroup limits and starts its counters.
func (s *slot) charge(l confine.Limits) error {
	memory, pids := l.MemoryBytes, l.Processes+1 // the init
	if !s.cg.PerCell() {
		memory, pids = memory+s.base, pids+1 // the launcher lives in the same group
	}
	view := s.view()
	if err := view.SetLimits(memory, pids); err != nil {
		return fmt.Errorf("set cgroup limits: %w", err)
	}
	if err := view.ResetPeaks(); err != nil {
		return fmt.Errorf("start cgroup counters: %w", err)
	}
	return nil
}

// view is the group that a run's limits and counters are in: the cell's own leaf on v2, the slot's group on v1.
func (s *slot) view() cgroup.View {
	if s.leaf != nil {
		return s.leaf.View
	}
	return s.cg.View
}

func (s *slot) usage() cgroup.Usage { return s.view().Usage() }
