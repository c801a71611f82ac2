package verify

import (
	"maps"
	"math"
	"strconv"
	"strings"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/tree"
)

// The implementations of the patch signal.
const (
	patchVersion = "traaviis.patch-impl.v1"
	// StrictPatchContract is the contract under which a patch has to be one: it has a section, it changes something, and what it makes can be laid
	// out on a disk. Prose is no patch there. New environments name it; under any other contract prose applies and changes nothing.
	StrictPatchContract = "pdlt.patch-strict.v1"
	strictPatchVersion  = "pdlt.patch-strict-impl.v1"
)

// Patch makes the document of a patch: specification §5.10. A text of nothing but white space is none, and the answer false; so is one that no document
// can carry.
func Patch(diff string) (jsonx.Value, bool) {
	if blank(diff) {
		return jsonx.Value{}, false
	}
	doc, _, err := provenance.Patch.Seal(provenance.Object(provenance.Member("patch_version", provenance.String("residency.patch.v1")),
		provenance.Member("diff", provenance.String(diff))))
	return doc, err == nil
}

// Apply gives the tree that a strict unified diff makes of another: specification §9.5. There is no fuzz and no search: a line that is not where the
// diff says is a *Refusal with [CodePatchRefused], whose path names the line of the diff. A diff without a section changes nothing.
func Apply(t Tree, diff string) (Tree, error) {
	patched, _, err := apply(t, diff)
	return patched, err
}

// apply also counts the sections.
func apply(t Tree, diff string) (Tree, int, error) {
	p := patcher{old: t, tree: maps.Clone(t), done: map[string]bool{}, rest: diff}
	if p.tree == nil {
		p.tree = Tree{}
	}
	p.advance()
	for p.ok {
		if !strings.HasPrefix(p.line, "--- ") {
			p.advance()
		} else if err := p.section(); err != nil {
			return nil, 0, err
		}
	}
	return p.tree, len(p.done), nil
}

// applyStrictly is what the strict contract asks for beyond [Apply].
func applyStrictly(t Tree, diff string) (Tree, error) {
	patched, sections, err := apply(t, diff)
	if err != nil {
		return nil, err
	}
	taken, conflict := patched.conflict()
	switch {
	case sections == 0:
		return nil, refuse(CodePatchRefused, "$.patch", "no section", "at least one file section, which begins with --- and +++")
	case conflict:
		return nil, refuse(CodePatchRefused, "$.patch", said(taken)+" as a file and as a folder", "one of the two")
	case patched.equal(t):
		return nil, refuse(CodePatchRefused, "$.patch", "no change", "a diff that changes a file")
	}
	return patched, nil
}

// patcher walks over a diff once.
type patcher struct {
	old, tree Tree
	done      map[string]bool // the paths that had their section

	rest   string
	line   string // the one that is being read, if ok
	ok     bool
	more   bool
	number int
}

// advance goes to the next line of the diff. The empty line behind a final newline is one: it ends whatever is being read.
func (p *patcher) advance() {
	if p.number > 0 && !p.more {
		p.line, p.ok = "", false
		return
	}
	p.line, p.rest, p.more = strings.Cut(p.rest, "\n")
	p.ok, p.number = true, p.number+1
}

func (p *patcher) refuse(found, required string) error {
	return refuse(CodePatchRefused, "$.patch:"+strconv.Itoa(p.number), found, required)
}

// section reads one file section and changes the tree.
func (p *patcher) section() error {
	from, err := p.header("--- ", "a/")
	if err != nil {
		return err
	}
	p.advance()
	to, err := p.header("+++ ", "b/")
	if err != nil {
		return err
	}
	target := to
	if to == "" {
		target = from
	}
	old, exists := p.old[target]
	switch {
	case target == "":
		return p.refuse("/dev/null on both sides", "a path on one of them")
	case from != "" && to != "" && from != to:
		return p.refuse("a rename to "+said(to), "the path of the line before")
	case p.done[target]:
		return p.refuse("a second section for "+said(target), "one section for a file")
	case from == "" && exists:
		return p.refuse("a new file where there is one", "a path that is not taken")
	case from != "" && !exists:
		return p.refuse("no file "+said(target), "a file of the subject")
	case old.Binary:
		return p.refuse("the binary file "+said(target), "a text")
	}
	p.done[target] = true
	p.advance()

	e := edit{creates: from == "", newline: from == "" || strings.HasSuffix(old.Data, "\n")}
	if !e.creates {
		e.old = linesOf(old.Data)
	}
	hunks := 0
	for ; p.ok && strings.HasPrefix(p.line, "@@"); hunks++ {
		if err := p.hunk(&e); err != nil {
			return err
		}
	}
	switch {
	case hunks == 0:
		return p.refuse("no hunk for "+said(target), "a line that begins with @@")
	case p.ok && p.line != "" && !strings.HasPrefix(p.line, "--- "):
		return p.refuse(said(p.line), "the end of the section: an empty line, or the next header")
	case to == "":
		if e.old.more || e.kept {
			return p.refuse("lines of "+said(target)+" that are left", "every line removed, for a file that goes")
		}
		delete(p.tree, target)
		return nil
	}
	p.tree[target] = File{Data: e.finish()}
	return nil
}

// header reads a line that names a path, and gives "" for /dev/null.
func (p *patcher) header(mark, prefix string) (string, error) {
	name, ok := strings.CutPrefix(p.line, mark)
	switch {
	case !ok:
		return "", p.refuse(said(p.line), "a line that begins with "+mark)
	case strings.ContainsRune(name, '\t') || name != trim(name):
		return "", p.refuse(said(name), "a path with nothing around it")
	case name == "/dev/null":
		return "", nil
	}
	if name, ok = strings.CutPrefix(name, prefix); !ok {
		return "", p.refuse(said(p.line), "a path below "+prefix)
	}
	clean, ok := tree.Path(name)
	if !ok {
		return "", p.refuse(said(name), "a relative path without ..")
	}
	return clean, nil
}

// edit is a file on its way from the old text to the new one.
type edit struct {
	creates bool
	old     lines
	at      int // lines of the old text that were passed
	out     strings.Builder
	kept    bool // the new text has a line
	newline bool // and its last one ends with a newline
}

func (e *edit) keep(line string) {
	if e.kept {
		e.out.WriteByte('\n')
	}
	e.out.WriteString(line)
	e.kept = true
}

// finish copies what no hunk touched and gives the new text.
func (e *edit) finish() string {
	for line, ok := e.old.next(); ok; line, ok = e.old.next() {
		e.keep(line)
	}
	if e.newline && e.kept {
		e.out.WriteByte('\n')
	}
	return e.out.String()
}

// hunk reads one hunk.
func (p *patcher) hunk(e *edit) error {
	start, oldLen, newLen, ok := hunkHeader(p.line)
	if !ok {
		return p.refuse(said(p.line), "@@ -line,count +line,count @@")
	}
	begin := start - 1
	if e.creates {
		begin = 0
	}
	if begin < e.at {
		return p.refuse("a hunk at line "+strconv.Itoa(start), "hunks in the order of the file, from line 1 on")
	}
	for ; e.at < begin; e.at++ {
		line, ok := e.old.next()
		if !ok {
			e.at = begin // past the end there is nothing to copy
			break
		}
		e.keep(line)
	}
	header, oldSeen, newSeen, last := p.number, 0, 0, byte(' ')
	for p.advance(); p.ok && p.line != ""; p.advance() {
		tag, text := p.line[0], p.line[1:]
		if tag == '\\' {
			if last != '-' {
				e.newline = false
			}
			continue
		}
		if strings.IndexByte(" -+", tag) < 0 || oldSeen >= oldLen && newSeen >= newLen {
			break
		}
		last = tag
		if tag != '+' {
			if !e.old.take(text) {
				return p.refuse(said(text), "line "+strconv.Itoa(e.at+1)+" as it is in the subject")
			}
			e.at++
			oldSeen++
		}
		if tag != '-' {
			e.keep(text)
			newSeen++
		}
	}
	if oldSeen != oldLen || newSeen != newLen {
		p.number = header
		return p.refuse(strconv.Itoa(oldSeen)+" old and "+strconv.Itoa(newSeen)+" new lines", "as many as the hunk says")
	}
	return nil
}

// hunkHeader reads where a hunk begins in the old text and how long it is on both sides. What stands behind the two ranges is ignored, and so is
// where the new side begins.
func hunkHeader(line string) (start, oldLen, newLen int, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 3 {
		return 0, 0, 0, false
	}
	start, oldLen, ok = hunkRange(fields[1], "-")
	if !ok {
		return 0, 0, 0, false
	}
	_, newLen, ok = hunkRange(fields[2], "+")
	return start, oldLen, newLen, ok
}

func hunkRange(field, sign string) (start, length int, ok bool) {
	field, ok = strings.CutPrefix(field, sign)
	if !ok {
		return 0, 0, false
	}
	first, second, two := strings.Cut(field, ",")
	if start, ok = digits(first); !ok || !two {
		return start, 1, ok
	}
	length, ok = digits(second)
	return start, length, ok
}

// digits reads a number of decimal digits only. One that is too large counts as the largest, which no file has lines for.
func digits(s string) (int, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		n = math.MaxInt
	}
	return n, true
}
