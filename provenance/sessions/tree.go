package sessions

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"pdlt.dev/pdlt/provenance"
)

// PageSize is how many resources a page of a listing has: specification §11.3.
const PageSize = 500

// turns is how many a listing can hold; each takes under one KiB of memory.
const turns = 200_000

// fresh is how long a turn that was compared with its files is good for the next page of a listing. Comparing it for each page would double the
// work of a listing that nobody pauses.
const fresh = time.Second

// Resource is an entry of a listing.
type Resource struct {
	URI         string `json:"uri"`
	Name        string `json:"name"`
	MIMEType    string `json:"mimeType"`
	Description string `json:"description"` // begins with the turn's status and the level; no text of a session is in it
}

// Content is one item of a read: Text, or Blob for what is not UTF-8.
type Content struct {
	URI      string
	Name     string
	MIMEType string
	Text     string
	Blob     []byte // nil for a text
}

// Template is a pattern of URIs.
type Template struct {
	URITemplate string `json:"uriTemplate"`
	Name        string `json:"name"`
	MIMEType    string `json:"mimeType"`
	Description string `json:"description"`
}

// Templates lists the patterns of the URIs that a [Tree] serves.
func Templates() []Template {
	list := make([]Template, len(kinds))
	for i, k := range kinds {
		list[i] = Template{scheme + "{session}/{workspace}/{turn}/" + k.name, k.name, k.mimeType, k.about}
	}
	return list
}

// Tree is a sessions folder. It holds nothing open, writes nothing, and is safe for concurrent use.
//
// It remembers what it found, and reads a turn again when the inode, size or times of something that the answer came from have changed.
type Tree struct {
	folder        string
	coarse, fresh time.Duration // the constants, but in tests

	mu      sync.Mutex
	entries map[name]*entry
	lists   map[string]list // of folders, by path
	order   []name          // of what is listed; nil before the first listing
}

// entry is what is remembered of a turn.
type entry struct {
	stamps  stamps
	settled bool
	checked time.Time // when the stamps were last compared
	listed  bool
	output  bool
	status  string
	level   provenance.Level
}

// list is what is remembered of a folder.
type list struct {
	stamp   stamp
	settled bool
	names   []string
}

// Open gives the tree of a folder. It need not exist, now or ever: until it does nothing is listed.
func Open(folder string) *Tree { return &Tree{folder: folder, coarse: coarse, fresh: fresh} }

// open gives nil if there is no folder.
func (t *Tree) open() (*folder, error) {
	d, err := openFolder(t.folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("open sessions folder: %w", err)
	}
	return d, nil
}

// List gives a page of at most n resources: sessions, workspaces and turns in the order of their names. The empty cursor begins; next goes on, and
// is empty at the end. A turn that cannot be read is left out. Sessions that come or go between two pages move nothing; those that come are in the
// next listing that begins. What a page says was so at most a second ago. n below 1 means [PageSize]. The error is [ErrCursor], or the sessions folder itself cannot be read.
func (t *Tree) List(cursor string, n int) (page []Resource, next string, err error) {
	var after name
	last := kind(-1)
	if cursor != "" {
		if after, last, err = parseCursor(cursor); err != nil {
			return nil, "", err
		}
	}
	if n < 1 {
		n = PageSize
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	d, err := t.open()
	if err != nil {
		return nil, "", err
	}
	page = []Resource{}
	if d == nil {
		t.entries, t.lists, t.order = nil, nil, nil
		return page, "", nil
	}
	defer d.close()
	if cursor == "" || t.order == nil {
		if err := t.refresh(d); err != nil {
			return nil, "", err
		}
	}
	from, _ := slices.BinarySearchFunc(t.order, after, name.compare)
	for _, turn := range t.order[from:] {
		e := t.entries[turn]
		if time.Since(e.checked) > t.fresh {
			e = t.check(d, turn)
			t.entries[turn] = e
		}
		for k := range kinds {
			k := kind(k)
			if !e.listed || k == programOutput && !e.output || turn == after && k <= last {
				continue
			}
			if len(page) == n {
				return page, next, nil
			}
			page = append(page, Resource{turn.uri(k), turn.of(k), kinds[k].mimeType, e.status + ", " + e.level.String() + ": " + kinds[k].phrase})
			next = cursorAfter(turn, k)
		}
	}
	return page, "", nil
}

// refresh lists the whole folder and reads the turns that changed.
func (t *Tree) refresh(d *folder) error {
	sessions, err := t.names(d, isSession)
	if err != nil {
		return fmt.Errorf("list sessions: %w", err)
	}
	found, lists, order := map[name]*entry{}, map[string]list{".": t.lists["."]}, []name{}
	keep := func(path string) { lists[path] = t.lists[path] }
	for _, session := range sessions {
		// A folder that cannot be listed is left out, and the others are not.
		workspaces, _ := t.names(d, isWorkspace, session, "workspaces")
		keep(join(session, "workspaces"))
		for _, workspace := range workspaces {
			turnNames, _ := t.names(d, isTurn, session, "workspaces", workspace, "turns")
			keep(join(session, "workspaces", workspace, "turns"))
			for _, turn := range turnNames {
				n := name{session, workspace, turn}
				if found[n] = t.check(d, n); found[n].listed {
					order = append(order, n)
				}
				if len(found) > turns {
					return fmt.Errorf("list sessions: found more than %d turns", turns)
				}
			}
		}
	}
	t.entries, t.lists, t.order = found, lists, order
	return nil
}

// names lists the folders in a folder that a grammar accepts. What is remembered is given as long as the folder's stamp says the same.
func (t *Tree) names(d *folder, accept func(string) bool, path ...string) ([]string, error) {
	key := join(path...)
	now, stamp := time.Now(), d.stamp(key)
	if was, ok := t.lists[key]; ok && was.settled && was.stamp == stamp {
		return was.names, nil
	}
	if len(path) == 0 {
		path = []string{"."}
	}
	r, err := d.walk(path...)
	if err != nil {
		return nil, err
	}
	defer r.close()
	names, err := r.folders(accept)
	if err != nil {
		return nil, err
	}
	if t.lists == nil {
		t.lists = map[string]list{}
	}
	t.lists[key] = list{stamp, stamp.settled(now, t.coarse), names}
	return names, nil
}

// check gives what is remembered of a turn as long as the stamps say the same, or else what a look at it finds. The stamps are taken before the
// look: a change during it shows the next time.
func (t *Tree) check(d *folder, n name) *entry {
	now, stamps := time.Now(), d.stamps(join(n.path()...))
	if was := t.entries[n]; was != nil && was.settled && was.stamps == stamps {
		was.checked = now
		return was
	}
	found, sure := lookAt(d, n)
	e := &entry{stamps: stamps, checked: now, settled: sure && stamps.settled(now, t.coarse)}
	if found != nil {
		e.listed, e.output, e.status, e.level = true, found.output != nil, found.record.Status, found.record.Verification.Level
	}
	return e
}

// Read gives the resource with exactly this URI, and after a response or a program-output the turn's provenance, which is worked out from the
// same bytes. The error is [ErrUnknownURI] for whatever is not listed.
func (t *Tree) Read(uri string) ([]Content, error) {
	d, err := t.open()
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, ErrUnknownURI
	}
	defer d.close()
	n, k, ok := t.resolve(d, uri)
	if !ok {
		return nil, ErrUnknownURI
	}
	found, _ := lookAt(d, n)
	if found == nil || k == programOutput && found.output == nil {
		return nil, ErrUnknownURI
	}
	record, err := encode(found.record)
	if err != nil {
		return nil, fmt.Errorf("read %s: write its record: %w", uri, err) // cannot happen: it was JSON
	}
	about := content(n, provenanceRecord, record)
	switch k {
	case response:
		return []Content{content(n, k, found.response), about}, nil
	case programOutput:
		return []Content{content(n, k, found.output), about}, nil
	}
	return []Content{about}, nil
}

// resolve finds the entries of folders that a URI is made of. The URI only says which entry to look for; the name that is used is the listed one.
func (t *Tree) resolve(d *folder, uri string) (n name, k kind, ok bool) {
	text, ok := strings.CutPrefix(uri, scheme)
	want, k, named := parseName(text)
	if !ok || !named {
		return name{}, 0, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	entry := func(name string, accept func(string) bool, path ...string) string {
		names, err := t.names(d, accept, path...)
		if i, ok := slices.BinarySearch(names, name); ok && err == nil {
			return names[i]
		}
		return ""
	}
	if n.session = entry(want.session, isSession); n.session == "" {
		return name{}, 0, false
	}
	if n.workspace = entry(want.workspace, isWorkspace, n.session, "workspaces"); n.workspace == "" {
		return name{}, 0, false
	}
	n.turn = entry(want.turn, isTurn, n.session, "workspaces", n.workspace, "turns")
	return n, k, n.turn != "" && n.uri(k) == uri
}

// join gives the path of the names, or "." for none.
func join(path ...string) string {
	if len(path) == 0 {
		return "."
	}
	return strings.Join(path, "/")
}

func content(n name, k kind, b []byte) Content {
	c := Content{URI: n.uri(k), Name: n.of(k), MIMEType: kinds[k].mimeType}
	if utf8.Valid(b) {
		c.Text = string(b)
	} else {
		c.Blob = b
	}
	return c
}
