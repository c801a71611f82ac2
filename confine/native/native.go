package native

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"pdlt.dev/pdlt/confine"
)

// Name is the name this backend registers under.
const Name = "native"

func init() { confine.Register(confine.Backend{Name: Name, Open: Open}) }

// Where a program finds itself, on every system that has a private root.
const (
	workDir = "/work"
	tmpDir  = "/tmp"
)

// fixedEnv is the environment of every program, before what its own Env adds. Nothing of the server's is in it: a variable that is not
// listed here does not exist.
var fixedEnv = []string{"HOME=" + workDir, "LANG=C.UTF-8", "LC_ALL=C.UTF-8", "PATH=/usr/bin:/bin", "TMPDIR=" + tmpDir, "TZ=UTC"}

// maxProgramBytes bounds what is sent into a cell before its own disk limit does.
const maxProgramBytes = 1 << 30

// checkOptions refuses options that no backend of this package can honour.
func checkOptions(o confine.Options) (confine.Options, error) {
	switch o.Start {
	case confine.StartAuto, confine.StartCold, confine.StartWarm, confine.StartZygote:
	default:
		return o, &confine.Refusal{Code: confine.CodePolicyInvalid, Path: "$.options.start", Found: strconv.Quote(string(o.Start)), Required: "cold, warm or zygote"}
	}
	if o.HashSeed == "" {
		o.HashSeed = "0"
	}
	if o.HashSeed != "random" {
		if _, err := strconv.ParseUint(o.HashSeed, 10, 32); err != nil {
			return o, &confine.Refusal{Code: confine.CodePolicyInvalid, Path: "$.options.hash_seed", Found: strconv.Quote(o.HashSeed), Required: `0 … 4294967295, or "random"`}
		}
	}
	if o.Slots < 0 || o.Slots > 4096 {
		return o, &confine.Refusal{Code: confine.CodePolicyInvalid, Path: "$.options.slots", Found: strconv.Itoa(o.Slots), Required: "0 … 4096"}
	}
	return o, nil
}

// checkProgram refuses a program that cannot be meant, so that nothing of it reaches a cell.
func checkProgram(p confine.Program) error {
	bad := func(where, found, required string) error {
		return &confine.Refusal{Code: confine.CodeProgramInvalid, Path: where, Found: found, Required: required}
	}
	if p.Entry == "" && len(p.Argv) == 0 {
		return bad("$.program", "neither an entry nor a command", "entry (a Python program) or argv (a host command)")
	}
	if p.Entry == "" && !path.IsAbs(p.Argv[0]) {
		return bad("$.program.argv[0]", strconv.Quote(p.Argv[0]), "an absolute path below one of roots")
	}
	if p.Entry != "" && len(p.Roots) > 0 {
		return bad("$.program.roots", fmt.Sprintf("%d roots", len(p.Roots)), "none: a Python program reads its interpreter and its own files")
	}
	for i, root := range p.Roots {
		for _, own := range []string{workDir, tmpDir, "/dev/shm", "/proc"} {
			if clean := path.Clean(root); clean == own || strings.HasPrefix(clean, own+"/") {
				return bad(fmt.Sprintf("$.program.roots[%d]", i), strconv.Quote(root), "a path outside "+own+", where a cell has its own")
			}
		}
	}
	names := map[string]bool{}
	var total int64
	for i, f := range p.Files {
		where := fmt.Sprintf("$.program.files[%d].name", i)
		clean := path.Clean(f.Name)
		switch {
		case f.Name == "" || clean != f.Name || path.IsAbs(clean) || clean == ".." || strings.HasPrefix(clean, "../") || strings.ContainsRune(f.Name, 0):
			return bad(where, strconv.Quote(f.Name), "a clean relative path below the work folder")
		case len(f.Name) > 1024:
			return bad(where, fmt.Sprintf("%d bytes", len(f.Name)), "at most 1024 bytes")
		case slices.ContainsFunc(strings.Split(f.Name, "/"), func(part string) bool { return len(part) > 255 }):
			return bad(where, strconv.Quote(f.Name), "parts of at most 255 bytes")
		case names[f.Name]:
			return bad(where, strconv.Quote(f.Name)+" twice", "distinct names")
		}
		names[f.Name] = true
		total += int64(len(f.Data))
	}
	for i, f := range p.Files {
		for up := path.Dir(f.Name); up != "."; up = path.Dir(up) {
			if names[up] {
				return bad(fmt.Sprintf("$.program.files[%d].name", i), strconv.Quote(f.Name), "no file where another needs a folder")
			}
		}
	}
	if total > maxProgramBytes {
		return bad("$.program.files", fmt.Sprintf("%d bytes", total), fmt.Sprintf("at most %d bytes", maxProgramBytes))
	}
	if p.Entry != "" && !names[p.Entry] {
		return bad("$.program.entry", strconv.Quote(p.Entry), "the name of one of files")
	}
	for i, e := range p.Env {
		if k, _, ok := strings.Cut(e, "="); !ok || k == "" || strings.ContainsRune(e, 0) {
			return bad(fmt.Sprintf("$.program.env[%d]", i), strconv.Quote(e), "NAME=value without NUL")
		}
	}
	for i, a := range p.Argv {
		if strings.ContainsRune(a, 0) {
			return bad(fmt.Sprintf("$.program.argv[%d]", i), strconv.Quote(a), "no NUL")
		}
	}
	return nil
}
