package runner

import "sync"

// What one server answers in its life unless its operator says otherwise: specification §2.2 and §3.1.
const (
	DefaultWorkCalls   = 6
	DefaultSubmissions = 3
)

// Ledger is the account of a number of calls. It is safe for concurrent use, and exact whatever the interleaving: what is reserved counts
// until it is given back.
type Ledger struct {
	limit int

	mu   sync.Mutex
	held int // reserved and spent together; never above limit
}

// NewLedger gives an account of limit calls. None can be made of one of 0 or less.
func NewLedger(limit int) *Ledger { return &Ledger{limit: max(0, limit)} }

// Limit is the number of calls that the account began with.
func (l *Ledger) Limit() int { return l.limit }

// Reserve takes one call, or reports that none is left. Whoever took one settles it by Spend or Return.
func (l *Ledger) Reserve() (*Reservation, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held >= l.limit {
		return nil, false
	}
	l.held++
	return &Reservation{l: l}, true
}

// Reservation is one call that was taken from a [Ledger]. The first Spend or Return settles it; what follows changes nothing.
type Reservation struct {
	l       *Ledger
	settled bool // guarded by l.mu
}

// Spend settles: the call was made and is gone.
func (r *Reservation) Spend() { r.settle(0) }

// Return settles: nothing ran, and the call can be taken again.
func (r *Reservation) Return() { r.settle(1) }

func (r *Reservation) settle(back int) {
	r.l.mu.Lock()
	defer r.l.mu.Unlock()
	if !r.settled {
		r.settled = true
		r.l.held -= back
	}
}
