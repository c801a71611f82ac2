//go:build unix

package sessions

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// spoil replaces what stands at a path of a turn by something hostile.
var spoil = map[string]func(t testing.TB, path, outside string){
	"a link to a file outside":      func(t testing.TB, p, o string) { do(t, os.Symlink(filepath.Join(o, "secret"), p)) },
	"a link to a folder outside":    func(t testing.TB, p, o string) { do(t, os.Symlink(o, p)) },
	"a link to where it stood":      func(t testing.TB, p, o string) { do(t, os.Symlink(filepath.Base(p)+".was", p)) },
	"a link to itself":              func(t testing.TB, p, o string) { do(t, os.Symlink(filepath.Base(p), p)) },
	"a link to the folder above":    func(t testing.TB, p, o string) { do(t, os.Symlink("..", p)) },
	"a link to nowhere":             func(t testing.TB, p, o string) { do(t, os.Symlink("/nowhere", p)) },
	"a FIFO that nobody writes":     func(t testing.TB, p, o string) { do(t, syscall.Mkfifo(p, 0o644)) },
	"a folder":                      func(t testing.TB, p, o string) { do(t, os.Mkdir(p, 0o755)) },
	"a file of 1 TiB, all of it 0":  func(t testing.TB, p, o string) { put(t, p, ""); do(t, os.Truncate(p, 1<<40)) },
	"a file just above the bound":   func(t testing.TB, p, o string) { put(t, p, ""); do(t, os.Truncate(p, fileBytes+1)) },
	"nothing":                       func(t testing.TB, p, o string) {},
	"a file that nobody can decode": func(t testing.TB, p, o string) { put(t, p, "\xff\x00{\"") },
}

// spoiled says what is listed of a turn when one path of it is something else than a link: the others are nil.
var spoiled = map[string]string{
	"events/events.jsonl":       "CLOSED_SUCCESS, unverified",
	"events":                    "CLOSED_SUCCESS, unverified",
	"routing.json":              "CLOSED_SUCCESS, host_verified",
	"provenance.json":           "CLOSED_SUCCESS, host_verified",
	out + "current.json":        "CLOSED_SUCCESS, host_verified",
	out + "program-output.json": "CLOSED_SUCCESS, host_verified",
}

func TestAHostileFolderSpoilsOneTurnAndShowsNothing(t *testing.T) {
	paths := []string{"../../../..", "../../..", "../..", "..", ".", "stages", "stages/50_execution", strings.TrimSuffix(out, "/"), "events"}
	for path := range verifiedTurn() {
		if path != "stages/10_prompt/current.md" {
			paths = append(paths, path)
		}
	}
	paths = append(paths, "provenance.json")
	slices.Sort(paths)
	for what, place := range spoil {
		for _, path := range paths {
			t.Run(what+" at "+path, func(t *testing.T) {
				dir := t.TempDir()
				folder, outside := filepath.Join(dir, "live-sessions"), filepath.Join(dir, "outside")
				putTurn(t, folder, one, verifiedTurn())
				putTurn(t, folder, name2("session-2"), verifiedTurn())
				// Outside is a whole turn too, and its response is the secret.
				secret := verifiedTurn()
				for p, text := range secret {
					secret[p] = strings.ReplaceAll(text, "Answer", "Secret")
				}
				for p, text := range secret {
					put(t, filepath.Join(outside, filepath.FromSlash(p)), text)
				}
				put(t, filepath.Join(outside, "secret"), "Secret")
				target := at(folder, one, path)
				if path == "provenance.json" {
					put(t, target, `{}`)
				}
				do(t, os.Rename(target, target+".was"))
				place(t, target, outside)

				tree := Open(folder)
				got := descriptions(t, tree)
				want := spoiled[path]
				if strings.HasPrefix(what, "a link") {
					want = ""
				}
				if path == out+"current.md" && what == "a file that nobody can decode" {
					want = "CLOSED_SUCCESS, unverified" // it is a response, and not the one that was published
				}
				if got["session-1"] != want || got["session-2"] != "CLOSED_SUCCESS, host_verified" || len(got) > 2 {
					t.Errorf("found %v; required: %q, and the other turn", got, want)
				}
				for k := range kinds {
					read, err := tree.Read(one.uri(kind(k)))
					if err != nil && !errors.Is(err, ErrUnknownURI) {
						t.Errorf("%s: found %v", kinds[k].name, err)
					}
					if (want == "") != (err != nil) && kind(k) != programOutput {
						t.Errorf("%s: found %v; listed: %q", kinds[k].name, err, want)
					}
					for _, c := range read {
						if strings.Contains(c.Text+string(c.Blob), "Secret") {
							t.Errorf("%s: found %q", kinds[k].name, c.Text)
						}
					}
				}
			})
		}
	}
}

func TestASessionsFolderThatIsNoFolderIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	do(t, syscall.Mkfifo(path, 0o644))
	tree := Open(path)
	if page, _, err := tree.List("", 0); err == nil {
		t.Errorf("found %v", page)
	}
	if got, err := tree.Read(one.uri(response)); err == nil || errors.Is(err, ErrUnknownURI) {
		t.Errorf("found %v, %v", got, err)
	}
}

func TestASessionsFolderMayBeBehindALink(t *testing.T) {
	dir := t.TempDir()
	putTurn(t, filepath.Join(dir, "real"), one, verifiedTurn())
	do(t, os.Symlink("real", filepath.Join(dir, "link")))
	if got := descriptions(t, Open(filepath.Join(dir, "link"))); len(got) != 1 {
		t.Errorf("found %v", got)
	}
}

func TestASessionsFolderMayHaveAnyName(t *testing.T) {
	for name, path := range map[string]string{
		"space, newline, no UTF-8": "a b\n\xff\x1b",
		"4,000 bytes":              strings.Repeat(strings.Repeat("x", 99)+"/", 40),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			folder := filepath.Join(dir, path)
			folder = strings.TrimSuffix(folder[:min(len(folder), 4000)], "/")
			do(t, os.MkdirAll(folder, 0o755))
			t.Chdir(folder) // no path that is longer can be opened in one go
			putTurn(t, ".", one, verifiedTurn())
			t.Chdir("/")
			tree := Open(folder)
			tree.coarse = always
			for range 2 {
				if got := descriptions(t, tree); got["session-1"] != "CLOSED_SUCCESS, host_verified" {
					t.Errorf("found %v", got)
				}
			}
			if tree.entries[one].stamps == (stamps{}) {
				t.Error("the turn's files were not examined")
			}
		})
	}
}

func TestOddNamesAreSkipped(t *testing.T) {
	folder := t.TempDir()
	putTurn(t, folder, one, verifiedTurn())
	for _, session := range []string{".hidden", "hidden.", "a b", "a\nb", "\xff", "a\x1b[2J", "é", strings.Repeat("x", 121), "a%2fb", "-\u202e"} {
		putTurn(t, folder, name2(session), verifiedTurn())
	}
	for _, workspace := range []string{"W-AAAAAAAAAA01", "W-aaaaaaaaaa0", "W-aaaaaaaaaa011", "w-aaaaaaaaaa01", "W-aaaaaaaaaa0g", "W-aaaaaaaaa\n01"} {
		putTurn(t, folder, name{one.session, workspace, one.turn}, verifiedTurn())
	}
	for _, turn := range []string{"turn_01", "turn_", "turn_1e3", "turn_-01", "turn_٠٠١", "Turn_001", "turn_001 ", "turn_001\n"} {
		putTurn(t, folder, name{one.session, one.workspace, turn}, verifiedTurn())
	}
	long := name{strings.Repeat("x", 120), one.workspace, "turn_" + strings.Repeat("1", 250)}
	putTurn(t, folder, long, verifiedTurn())
	var got []string
	for _, r := range all(t, Open(folder), 0) {
		got = append(got, r.URI)
	}
	if want := []string{one.uri(0), one.uri(1), one.uri(2), long.uri(0), long.uri(1), long.uri(2)}; !slices.Equal(got, want) {
		t.Errorf("found %q; required: %q", got, want)
	}
}

// FuzzTree plays a folder's owner: each pair of bytes puts something at a path. Nothing outside is ever shown, the turn beside it stays, and a
// tree with a memory says what one without says.
func FuzzTree(f *testing.F) {
	kindsOfSpoil := make([]string, 0, len(spoil))
	for what := range spoil {
		kindsOfSpoil = append(kindsOfSpoil, what)
	}
	slices.Sort(kindsOfSpoil)
	paths := []string{"../../../..", "../../..", "../..", "..", ".", "turn.json", "routing.json", "provenance.json", "events", "events/events.jsonl", "stages",
		"stages/50_execution", strings.TrimSuffix(out, "/"), out + "current.md", out + "current.json", out + "program-output.json"}
	f.Add([]byte{0, 1, 4, 2, 13, 3})
	f.Add([]byte{9, 0, 9, 6, 7, 11, 10, 2, 10, 255})
	f.Add([]byte{1, 2, 1, 255, 3, 4, 15, 8})
	f.Fuzz(func(t *testing.T, steps []byte) {
		dir := t.TempDir()
		folder, outside := filepath.Join(dir, "live-sessions"), filepath.Join(dir, "outside")
		putTurn(t, folder, one, verifiedTurn())
		putTurn(t, folder, name2("session-2"), verifiedTurn())
		for p, text := range verifiedTurn() {
			put(t, filepath.Join(outside, filepath.FromSlash(p)), strings.ReplaceAll(text, "Answer", "Secret"))
		}
		tree := Open(folder)
		for i := 0; i+1 < len(steps) && i < 20; i += 2 {
			target := at(folder, one, paths[int(steps[i])%len(paths)])
			// What stands there may be below a link that an earlier step made. Only what is really inside is touched.
			real, err := filepath.EvalSymlinks(filepath.Dir(target))
			if err != nil || !strings.HasPrefix(real, folder) {
				continue
			}
			if info, err := os.Stat(real); err != nil || !info.IsDir() {
				continue
			}
			do(t, os.RemoveAll(target))
			if steps[i+1] == 255 {
				for p, text := range verifiedTurn() {
					if full := at(folder, one, p); strings.HasPrefix(full, target) && os.MkdirAll(filepath.Dir(full), 0o755) == nil {
						if info, err := os.Lstat(full); err != nil || info.Mode().IsRegular() {
							_ = os.WriteFile(full, []byte(text), 0o644)
						}
					}
				}
			} else {
				spoil[kindsOfSpoil[int(steps[i+1])%len(kindsOfSpoil)]](t, target, outside)
			}
			got, fresh := all(t, tree, 0), all(t, Open(folder), 0)
			if !slices.Equal(got, fresh) {
				t.Fatalf("found %v; without a memory: %v", got, fresh)
			}
			listed := map[string]bool{}
			for _, r := range got {
				listed[r.URI] = true
			}
			for k := range kinds {
				if !listed[name2("session-2").uri(kind(k))] {
					t.Fatalf("the turn beside it is gone: %v", got)
				}
				uri := one.uri(kind(k))
				read, err := tree.Read(uri)
				if listed[uri] != (err == nil) {
					t.Fatalf("%s: read %v; listed: %v", uri, err, listed[uri])
				}
				for _, c := range read {
					if strings.Contains(c.Text+string(c.Blob), "Secret") {
						t.Fatalf("%s: found %q", uri, c.Text)
					}
				}
			}
		}
	})
}
