//go:build linux && cgo

package native

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/confine/internal/cell"
	"pdlt.dev/pdlt/confine/internal/cgroup"
	"pdlt.dev/pdlt/confine/internal/landlock"
)

// confiner is the native backend on Linux: a pool of slots, each with its own launcher and cgroup.
type confiner struct {
	options confine.Options
	in      *interpreter
	abi     int
	userns  bool // an ordinary user: launchers need a user namespace of their own
	uids    idRange
	groups  bool           // programs may show the server's groups
	cg      *cgroup.Server // nil: rlimits only
	cgMode  string         // for reports
	kernel  string

	tokens chan struct{} // one for each program that may run at once; waiters are served in order

	mu       sync.Mutex
	idle     []*slot // least recently used first
	count    int     // slots alive, idle or in use
	nextID   int
	free     []int // slot indices to use again
	reports  map[reportKey]confine.Report
	prospers slotKey // the kind that has had its spare slot made
	enlarged sync.Once
	text     *largeText // nil before the first run, for a host's Python, and where there are no large pages
	closed   bool
	busy     sync.WaitGroup
	ctx      context.Context // ends at Close: kills what runs
	cancel   context.CancelFunc
}

// Open opens the native backend. It refuses when the interpreter cannot be used; a step of the confinement that this machine refuses is
// found by the first run or by Probe.
func Open(o confine.Options) (confine.Confiner, error) {
	o, err := checkOptions(o)
	if err != nil {
		return nil, err
	}
	if !cell.Available {
		return nil, &confine.Refusal{Code: confine.CodeBackendUnavailable, Path: "$.sandbox", Found: "a build without cgo", Required: "a build with cgo", Unsupported: true}
	}
	if o.Start == confine.StartAuto {
		o.Start = confine.StartZygote
	}
	if o.Slots == 0 {
		o.Slots = max(2, runtime.NumCPU())
	}
	c := &confiner{options: o, reports: map[reportKey]confine.Report{}, userns: !administrator(), tokens: make(chan struct{}, o.Slots)}
	if c.in, err = resolve(o); err != nil {
		return nil, err
	}
	if c.abi, err = landlock.ABI(); err != nil {
		c.abi = 0
	}
	if c.uids, err = mappedIDs(c.userns); err != nil {
		return nil, err
	}
	c.groups = keepsGroups(c.userns)
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		return nil, fmt.Errorf("uname: %w", err)
	}
	c.kernel = unix.ByteSliceToString(u.Release[:])
	mode := cgroup.Probe()
	c.cgMode = mode.String()
	if mode.Usable() {
		if _, err := cgroup.Sweep(mode); err != nil {
			return nil, fmt.Errorf("sweep stale cgroups: %w", err)
		}
		if c.cg, err = cgroup.Open(mode); err != nil {
			return nil, fmt.Errorf("open cgroup: %w", err)
		}
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	return c, nil
}

// Interpreter implements confine.Describer.
func (c *confiner) Interpreter() confine.Interpreter { return c.in.about }

// idRange is a range of ids outside that programs may be mapped to.
type idRange struct{ first, size uint32 }

// preferredIDs lies far above ordinary users and the ranges that container tools hand out.
const preferredIDs = 2_000_000_000

// administrator reports whether this process may mount. Root in a container often may not, and root of a user namespace may.
func administrator() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	return unix.Capget(&header, &data[0]) == nil && data[0].Effective&(1<<unix.CAP_SYS_ADMIN) != 0
}

// mappedIDs finds ids that nobody uses: one for each slot, so that limits that the kernel keeps by user are never shared. Who needs a user
// namespace has only its own, and so has root of one in which no other id exists.
func mappedIDs(userns bool) (idRange, error) {
	if userns {
		return idRange{0, 1}, nil // root of the launcher's user namespace, which is the user outside
	}
	b, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return idRange{}, fmt.Errorf("read uid map: %w", err)
	}
	best := idRange{0, 1}
	for _, line := range strings.Split(string(b), "\n") {
		var inside, outside, size uint32
		if n, _ := fmt.Sscan(line, &inside, &outside, &size); n != 3 {
			continue
		}
		if inside <= preferredIDs && preferredIDs-inside < size {
			return idRange{preferredIDs, 4096}, nil
		}
		if best.first == 0 && inside <= 65534 && 65534-inside < size {
			best = idRange{65534, 1}
		}
		if size > 8192 { // the end of the largest range, below nobody's
			best = idRange{inside + size - 8192, 4096}
		}
	}
	return best, nil
}

func (c *confiner) hostID(index int) uint32 { return c.uids.first + uint32(index)%c.uids.size }

// Run implements confine.Confiner.
func (c *confiner) Run(ctx context.Context, spec confine.Spec) (confine.Result, error) {
	var none confine.Result
	if err := checkProgram(spec.Program); err != nil {
		return none, err
	}
	l, err := spec.Limits.Filled()
	if err != nil {
		return none, err
	}
	spec.Limits = l
	if spec.Program.Entry == "" && l.Steps > 0 {
		return none, &confine.Refusal{Code: confine.CodeStepsUnavailable, Path: "$.limits.steps", Found: "a host command", Required: "a Python program, or steps 0 (not counted)"}
	}
	key := slotKey{start: c.options.Start, policy: spec.Policy, command: spec.Program.Entry == ""}
	if key.command {
		key.start, key.roots = confine.StartCold, strings.Join(spec.Program.Roots, "\x00")
	}
	key.policy.Waive = 0 // what may be missing changes no launcher
	if err := c.checkFacets(spec.Policy, l); err != nil {
		return none, err
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return none, confine.ErrClosed
	}
	c.busy.Add(1)
	c.mu.Unlock()
	defer c.busy.Done()

	select {
	case c.tokens <- struct{}{}:
	case <-ctx.Done():
		return none, fmt.Errorf("wait for a slot: %w", ctx.Err())
	case <-c.ctx.Done():
		return none, confine.ErrClosed
	}
	defer func() { <-c.tokens }()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(c.ctx, stop)()

	s, err := c.acquire(key)
	if err != nil {
		return none, err
	}
	e, out, wall, ready, broken, err := s.supervise(ctx, spec, l)
	if err != nil {
		c.release(s, true, l)
		return none, err
	}
	s.runs++
	o := e.judge()
	o.Usage = confine.Usage{WallMS: float64(wall.Microseconds()) / 1000, CPUMS: float64(e.cpuMicros) / 1000, MemoryPeakBytes: e.peak, ProcessesPeak: e.pidsPeak}
	o.Stdout, o.Stderr = out[0], out[1]
	c.prosper(key)
	res := confine.Result{Outcome: o, Report: c.report(s, spec, ready), Program: spec.Program.ID()}
	c.release(s, broken, l)
	return res, nil
}

// acquire gives an idle slot for key, or makes one; over the bound an idle slot of another key makes room.
func (c *confiner) acquire(key slotKey) (*slot, error) {
	c.mu.Lock()
	for i, s := range c.idle {
		if s.key == key {
			c.idle = append(c.idle[:i], c.idle[i+1:]...)
			c.mu.Unlock()
			return s, nil
		}
	}
	var evicted *slot
	if c.count >= c.options.Slots && len(c.idle) > 0 {
		evicted, c.idle = c.idle[0], c.idle[1:]
	} else {
		c.count++
	}
	index := c.index()
	c.mu.Unlock()
	if evicted != nil {
		c.discard(evicted)
	}
	s, err := c.openSlot(key, index)
	if err != nil {
		c.mu.Lock()
		c.count--
		c.free = append(c.free, index)
		c.mu.Unlock()
		return nil, err
	}
	return s, nil
}

// prosper makes, after the first run of its kind and behind the caller's back, what only pays when more follow: large pages for the zygotes to come,
// and a second slot. A caller that runs one program after another finds a waiting cell in one while the other builds its next.
func (c *confiner) prosper(key slotKey) {
	if key.start == confine.StartCold || c.options.Slots < 2 {
		return
	}
	c.mu.Lock()
	if c.closed || c.prospers == key {
		c.mu.Unlock()
		return
	}
	c.prospers = key
	c.busy.Add(1)
	c.mu.Unlock()
	go func() {
		defer c.busy.Done()
		if key.start == confine.StartZygote && !c.in.host {
			c.enlarged.Do(c.enlargeText)
		}
		c.spare(key)
	}()
}

// enlargeText is for the zygotes to come. Without large pages only speed is lost. A host's Python has none: its file may be replaced while we serve,
// and a zygote that is started then must not get the text of the one before.
func (c *confiner) enlargeText() {
	t, err := enlarge(c.in.raw)
	if err != nil {
		return
	}
	c.mu.Lock()
	c.text = t
	c.mu.Unlock()
}

// spare makes a slot that nobody asked for, if there is room.
func (c *confiner) spare(key slotKey) {
	c.mu.Lock()
	if c.closed || c.count >= c.options.Slots {
		c.mu.Unlock()
		return
	}
	c.count++
	index := c.index()
	c.mu.Unlock()
	s, err := c.openSlot(key, index)
	if err != nil { // a caller who needs a slot will be told why
		c.mu.Lock()
		c.count--
		c.free = append(c.free, index)
		c.mu.Unlock()
		return
	}
	c.release(s, false, confine.DefaultLimits)
}

// index gives a slot index; c.mu is held.
func (c *confiner) index() int {
	if n := len(c.free); n > 0 {
		i := c.free[n-1]
		c.free = c.free[:n-1]
		return i
	}
	c.nextID++
	return c.nextID - 1
}

// discard closes a slot and gives its index back; its place in count goes to the caller.
func (c *confiner) discard(s *slot) {
	s.close()
	c.mu.Lock()
	c.free = append(c.free, s.index)
	c.mu.Unlock()
}

// release puts a slot back, with the next cell already asked for, or ends it.
func (c *confiner) release(s *slot, broken bool, l confine.Limits) {
	s.dropLeaf()
	c.mu.Lock()
	// A zygote from before the large pages makes room for one with them.
	spent := s.runs >= zygoteRuns || s.text == nil && c.text != nil && s.key.start == confine.StartZygote
	c.mu.Unlock()
	if !broken && !spent && !s.key.command && s.key.start != confine.StartCold {
		broken = s.ask(l) != nil
	}
	c.mu.Lock()
	if !broken && !spent && !c.closed {
		c.idle = append(c.idle, s)
		c.mu.Unlock()
		return
	}
	c.count--
	replace := spent && !broken && !c.closed
	if replace {
		c.busy.Add(1)
	}
	c.mu.Unlock()
	c.discard(s)
	if replace { // whoever comes next finds a cell that waits
		go func() {
			defer c.busy.Done()
			c.spare(s.key)
		}()
	}
}

// Close implements confine.Confiner.
func (c *confiner) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	c.mu.Unlock()
	c.cancel()
	c.busy.Wait()
	c.mu.Lock()
	idle := c.idle
	c.idle = nil
	c.mu.Unlock()
	for _, s := range idle {
		s.close()
	}
	if c.text != nil {
		c.text.file.Close()
	}
	if c.cg != nil {
		if err := c.cg.Close(); err != nil {
			return fmt.Errorf("remove cgroup: %w", err)
		}
	}
	return nil
}
