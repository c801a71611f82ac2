package law

import (
	"go/ast"
	"path"
	"slices"
	"strings"
	"testing"
)

// leaves import the standard library, golang.org/x/sys, their own subfolders, and for a stated reason nothing else.
var leaves = []string{"confine", "provenance"}

// leafReasons are those reasons. An entry is for the packages at or below "folder". "module" is a module, or one package of this one.
var leafReasons = []struct{ folder, module, reason string }{
	{"confine", "github.com/seccomp/libseccomp-golang", "the seccomp program is made by libseccomp"},
	{"confine", "github.com/containerd/cgroups/v3", "cgroup v1 and v2 are driven through it"},
	{"confine", "github.com/opencontainers/cgroups", "libcontainer's configuration has its types"},
	{"confine", "github.com/opencontainers/runc", "the container backend is libcontainer"},
	{"confine", "github.com/opencontainers/runtime-spec", "libcontainer's configuration has its types"},
	{"confine/internal/pack/build", "github.com/klauspost/compress", "packs are shipped as zstd archives; no command contains the builder"},
	{"provenance", module + "/internal/jsonx", "what a host recorded is read strictly, by the one reader of the project"},
}

func TestConfineAndProvenanceAreLeaves(t *testing.T) {
	for _, system := range systems {
		packages := list(t, system, "./...")
		for _, p := range packages {
			for _, leaf := range leaves {
				if !p.in(leaf) {
					continue
				}
				for _, imp := range p.Imports {
					q := packages[imp]
					if imp == "C" || q == nil || q.Standard || q.in(leaf) || q.Module.Path == "golang.org/x/sys" {
						continue
					}
					if !slices.ContainsFunc(leafReasons, func(r struct{ folder, module, reason string }) bool {
						return p.in(r.folder) && (q.Module.Path == r.module || imp == r.module)
					}) {
						t.Errorf("%s: %s imports %s: %s is a leaf (standard library, x/sys, own subfolders; more only with a reason in leafReasons)",
							system, p.ImportPath, imp, leaf)
					}
				}
			}
		}
	}
}

// bans are direct imports that the packages at or below some folders must not have.
var bans = []struct {
	folders []string
	banned  []string // folders of this module, or import paths
	reason  string
}{
	{[]string{"mcp", "internal/ors"}, []string{"confine", "os/exec"}, "a transport cannot start a process; it asks the runner"},
	{[]string{"mcp"}, []string{"internal/ors"}, "transports are translations onto one kernel and know nothing of each other"},
	{[]string{"internal/ors"}, []string{"mcp"}, "transports are translations onto one kernel and know nothing of each other"},
	{[]string{"runner"}, []string{"mcp", "internal/ors", "internal/cli"}, "the kernel does not know who calls it"},
	{[]string{"mcp", "internal/ors"}, []string{"internal/cli"}, "a surface does not know which command it is in"},
	{[]string{"confine", "provenance", "runner", "mcp", "internal"}, []string{"cmd", "test", "hack"}, "what ships does not import its tests or its commands"},
}

func TestBannedImports(t *testing.T) {
	for _, system := range systems {
		for _, p := range list(t, system, "./...") {
			for _, ban := range bans {
				if !p.in(ban.folders...) {
					continue
				}
				for _, imp := range p.Imports {
					if slices.Contains(ban.banned, imp) || rel(imp) != "" && below(rel(imp), ban.banned...) {
						t.Errorf("%s: %s imports %s: %s", system, p.ImportPath, imp, ban.reason)
					}
				}
			}
		}
	}
}

// doors says which packages may import a heavy dependency.
var doors = []struct {
	module  string // or the beginning of module paths, if it ends with a slash
	folders []string
	reason  string
}{
	{"github.com/modelcontextprotocol/go-sdk", []string{"mcp"}, "only mcp speaks MCP"},
	{"google.golang.org/grpc", []string{"runner/remote"}, "only remote execution speaks gRPC"},
	{"github.com/bazelbuild/", []string{"runner/remote"}, "only remote execution speaks its API"},
	{"github.com/in-toto/", []string{"provenance/attest"}, "exports are pure functions in one place"},
	{"github.com/sigstore/", []string{"provenance/attest"}, "exports are pure functions in one place"},
	{"github.com/secure-systems-lab/", []string{"provenance/attest"}, "exports are pure functions in one place"},
	{"github.com/alecthomas/kong", []string{"internal/cli"}, "only the command line has flags"},
	{"github.com/seccomp/libseccomp-golang", []string{"confine"}, "only confine makes filters"},
	{"github.com/containerd/cgroups/v3", []string{"confine"}, "only confine makes cgroups"},
	{"github.com/opencontainers/", []string{"confine", "cmd"}, "only confine makes containers; a command asserts that their seccomp support is compiled in"},
}

func TestAHeavyDependencyHasOneDoor(t *testing.T) {
	for _, system := range systems {
		packages := list(t, system, "./...")
		for _, p := range packages {
			if rel(p.ImportPath) == "" {
				continue
			}
			for _, imp := range p.Imports {
				q := packages[imp]
				if q == nil || q.Module == nil {
					continue
				}
				for _, d := range doors {
					if q.Module.Path == d.module || strings.HasSuffix(d.module, "/") && strings.HasPrefix(q.Module.Path, d.module) {
						if !p.in(d.folders...) {
							t.Errorf("%s: %s imports %s: its door is %s: %s", system, p.ImportPath, imp, strings.Join(d.folders, ", "), d.reason)
						}
					}
				}
			}
		}
	}
}

// processCalls are the names in os, syscall and golang.org/x/sys that start, stop or steer processes, or could by number. A name
// that ends with "*" is a prefix.
var processCalls = []string{
	"Clone*", "CreateProcess*", "Exec", "FindProcess", "ForkExec", "ForkOnlyBSDError*", "Kill", "OpenProcess", "Pidfd*", "Ptrace*", "RawSyscall*",
	"Setns", "ShellExecute", "StartProcess", "Syscall*", "TerminateProcess", "Tgkill", "Unshare", "Wait4", "Waitid",
}

func matches(name string, globs []string) bool {
	return slices.ContainsFunc(globs, func(g string) bool {
		prefix, open := strings.CutSuffix(g, "*")
		return name == g || open && strings.HasPrefix(name, prefix)
	})
}

func TestOnlyConfineStartsProcesses(t *testing.T) {
	const reason = "one place starts programs: confine"
	for _, f := range parsed(t) {
		if below(f.path, "confine", "test") || f.tool() {
			continue
		}
		for _, file := range f.files {
			for _, imp := range file.Imports {
				switch p := strings.Trim(imp.Path.Value, `"`); {
				case p == "os/exec", p == "C", p == "plugin":
					t.Errorf("%s: imports %s: %s", at(imp), p, reason)
				case imp.Name != nil && imp.Name.Name == ".":
					t.Errorf("%s: a dot import hides from this law what is called", at(imp))
				}
			}
			uses(file, func(n *ast.SelectorExpr, p string) {
				if (p == "os" || p == "syscall" || below(p, "golang.org/x/sys")) && matches(n.Sel.Name, processCalls) {
					t.Errorf("%s: %s.%s: %s", at(n), path.Base(p), n.Sel.Name, reason)
				}
			})
		}
	}
}

// surroundings are the names through which a process reads how it was started, or ends it.
var surroundings = map[string][]string{
	"os":      {"Args", "Clearenv", "Environ", "Exit", "ExpandEnv", "Getenv", "LookupEnv", "Setenv", "Unsetenv"},
	"log":     {"Fatal*"},
	"syscall": {"Clearenv", "Environ", "Exit", "Getenv", "Setenv", "Unsetenv"},
	"flag":    {"*"},
}

// surroundingsAllowed are the places that may, beside internal/cli.
var surroundingsAllowed = []struct {
	folder, pkg string
	names       []string
	reason      string
}{
	{"cmd", "os", []string{"Args", "Exit"}, "main hands both to internal/cli"},
	{"confine/confinetest", "os", []string{"LookupEnv", "Getenv"}, "CONFINE_REQUIRE speaks to the suite; no command contains it"},
}

func TestOnlyTheCommandLineReadsItsSurroundings(t *testing.T) {
	for _, f := range parsed(t) {
		if below(f.path, "internal/cli", "test") || f.tool() {
			continue
		}
		for _, file := range f.files {
			uses(file, func(n *ast.SelectorExpr, p string) {
				if !matches(n.Sel.Name, surroundings[p]) {
					return
				}
				for _, a := range surroundingsAllowed {
					if below(f.path, a.folder) && p == a.pkg && slices.Contains(a.names, n.Sel.Name) {
						return
					}
				}
				t.Errorf("%s: %s.%s: only internal/cli reads the environment, flags and os.Args, and ends the process", at(n), p, n.Sel.Name)
			})
		}
	}
}

func TestNoCommandContainsTestCode(t *testing.T) {
	for _, system := range systems {
		for _, p := range list(t, system, "./cmd/...") {
			if p.ImportPath == "testing" || p.in("test", "confine/confinetest") {
				t.Errorf("%s: a command depends on %s", system, p.ImportPath)
			}
		}
	}
}

// sealed are the documents that one function builds.
var sealed = []struct{ folder, document string }{
	{"provenance/receipt", "Receipt"},
	{"provenance/bundle", "Bundle"},
}

func TestOneFunctionBuildsADocument(t *testing.T) {
	all := parsed(t)
	for _, s := range sealed {
		t.Run(s.document, func(t *testing.T) {
			if all[s.folder] == nil {
				t.Skipf("there is no package %s yet", s.folder)
			}
			var builders []string
			for _, f := range all {
				for _, file := range f.files {
					for _, d := range file.Decls {
						if builds(file, d, f.path == s.folder, s.folder, s.document) {
							builders = append(builders, at(d))
						}
					}
				}
			}
			if len(builders) != 1 {
				t.Errorf("%s.%s is built at %v; required: one place, whatever the others do", s.folder, s.document, builders)
			}
		})
	}
}

// builds reports whether a declaration has a composite literal with elements of the named type. An empty one, which a decoder
// fills or which stands beside an error, is not a document.
func builds(file *ast.File, d ast.Decl, inside bool, folder, name string) bool {
	own := map[*ast.SelectorExpr]bool{}
	uses(file, func(n *ast.SelectorExpr, p string) { own[n] = p == module+"/"+folder && n.Sel.Name == name })
	found := false
	ast.Inspect(d, func(n ast.Node) bool {
		if lit, ok := n.(*ast.CompositeLit); ok && len(lit.Elts) > 0 {
			switch typ := lit.Type.(type) {
			case *ast.Ident:
				found = found || inside && typ.Name == name
			case *ast.SelectorExpr:
				found = found || own[typ]
			}
		}
		return !found
	})
	return found
}
