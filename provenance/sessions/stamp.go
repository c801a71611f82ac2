package sessions

import "time"

// stamp tells one state of a file or folder from another: when it is the same, nothing was written since. The zero stamp is "not there".
type stamp struct {
	inode             uint64
	size              int64
	modified, changed int64 // nanoseconds since 1970
}

// coarse is how long a file system's clock can stand still: two seconds on FAT. A file that was changed that shortly before it was read can
// change again and keep its stamp.
const coarse = 2 * time.Second

// settled reports whether a later change will show in the stamp.
func (s stamp) settled(now time.Time, coarse time.Duration) bool {
	return max(s.modified, s.changed) < now.Add(-coarse).UnixNano()
}

// watched is everything that decides what is said about a turn. A folder's stamp changes when one of its entries comes, goes or is exchanged, for a
// link too: so "events", "stages" and "output" need none of their own.
var watched = [...]string{
	".", "turn.json", "routing.json", "provenance.json", "events/events.jsonl", "stages/50_execution",
	"stages/50_execution/output/current.md", "stages/50_execution/output/current.json", "stages/50_execution/output/program-output.json",
}

// stamps are those of a turn.
type stamps [len(watched)]stamp

func (d *folder) stamps(turn string) (s stamps) {
	for i, name := range watched {
		s[i] = d.stamp(turn + "/" + name)
	}
	return s
}

func (s stamps) settled(now time.Time, coarse time.Duration) bool {
	for i := range s {
		if !s[i].settled(now, coarse) {
			return false
		}
	}
	return true
}
