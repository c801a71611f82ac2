package runner

import (
	"sync"
	"sync/atomic"
	"testing"
)

func TestALedgerGivesItsLimitAndNoMore(t *testing.T) {
	for _, limit := range []int{-5, 0, 1, 6} {
		l := NewLedger(limit)
		given := 0
		for range 20 {
			if r, ok := l.Reserve(); ok {
				given++
				r.Spend()
			}
		}
		if given != max(0, limit) || l.Limit() != max(0, limit) {
			t.Errorf("a ledger of %d gave %d and says %d", limit, given, l.Limit())
		}
	}
}

func TestAReservationIsSettledOnce(t *testing.T) {
	l := NewLedger(1)
	first, _ := l.Reserve()
	first.Return()
	first.Return()
	second, ok := l.Reserve()
	if !ok {
		t.Fatal("what was returned cannot be taken again")
	}
	first.Return() // of an old reservation: must not give back the second
	if _, ok := l.Reserve(); ok {
		t.Error("a reservation that was settled gave back the call of another")
	}
	second.Spend()
	second.Return()
	if _, ok := l.Reserve(); ok {
		t.Error("what was spent came back")
	}
}

func TestALedgerIsExactUnderContention(t *testing.T) {
	const limit, callers, each = 6, 16, 200
	l := NewLedger(limit)
	var holding, spent atomic.Int64
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for j := range each {
				r, ok := l.Reserve()
				if !ok {
					continue
				}
				if n := holding.Add(1); n > limit {
					t.Errorf("%d calls are held or spent out of %d", n, limit)
				}
				if (i+j)%97 == 0 {
					spent.Add(1)
					r.Spend()
				} else {
					holding.Add(-1)
					r.Return()
				}
			}
		})
	}
	wg.Wait()
	left := int64(0)
	for {
		if _, ok := l.Reserve(); !ok {
			break
		}
		left++
	}
	if spent.Load()+left != limit {
		t.Errorf("%d spent and %d left of %d", spent.Load(), left, limit)
	}
}
