package confine

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pdlt.dev/pdlt/confine/confinetest"
)

// provoked says which tests provoke what users of other software reported (sections 1, 5, 6 and 7 of the cases, by number) and what stands there without a
// report (in its order). A test is named by its folder and its function, the name that a table gives it, or the beginning of that; a script by its file. What is
// not here, or only in part, has its reason in docs/rough-edges.md. Sections 2, 3 and 4 are in test/conformance.
var provoked = map[string][]string{
	// 1: a run that never returns, or outlives its verdict
	"1":  {"confine/confinetest: a grandchild that holds standard output does not delay the answer"},
	"2":  {"confine/confinetest: 60 kB and a last line arrive while a child holds the pipe"},
	"3":  {"confine/confinetest: the wall clock ends a family"},
	"4":  {"confine/confinetest: a grandchild in another session whose parents are dead does not outlive a failure", "confine/confinetest: a child that closed all descriptors does not outlive the answer", "confine/confinetest: a fork bomb whose first process ends is ended"},
	"5":  {"confine/confinetest: a daemon that an imported module starts is dead with the answer", "runner: TestTheInterpreterSaysWhatIsAProgram"},
	"6":  {"confine/confinetest: 10 MB on both streams alternately: head and tail kept, every byte counted"},
	"8":  {"confine/confinetest: input is at its end at once"},
	"9":  {"confine/confinetest: the wall clock kills with its own reason"},
	"10": {"test/confine: TestAStoppedInitHoldsTheAnswerNoLongerThanTheWallClock"},
	"12": {"confine/confinetest: what was printed before the limit is kept", "runner: TestTheTableOfTiersIsTheSpecifications"},
	"13": {"test/confine: TestNothingOutlivesAKilledServer", "test/conformance: TestTheEndOfAServerIsTheEndOfItsPrograms"},
	"15": {"test/confine: TestNoRunEndsWithTheThreadThatStartedIt", "test/confine: TestThousandsOfRunsLeaveNothingAndMemoryIsFlat"},
	"16": {"test/confine: TestNoRunEndsWithTheThreadThatStartedIt"},
	"19": {"test/conformance: TestParallelRuns", "mcp: TestEveryRequestIsObserved"},
	"20": {"test/confine: 20: network namespaces used up", "test/confine: TestWithoutAStepNothingRunsOrEverythingHolds"},

	// 5: confinement that breaks honest programs
	"71": {"confine/confinetest: the usual libraries import without a word", "confine/confinetest: ssl, hashlib, zlib, lzma, bz2 and xml import and work", "confine/confinetest: sqlite3 works in memory and in a file"},
	"72": {"confine/confinetest: refused calls answer an errno from eight threads at once, and no signal", "confine/internal/seccomp: TestAnswers"},
	"73": {"runner: TestLowerOnlyLowers", "runner: TestLowerRefusesEveryRaise"},
	"74": {"confine/confinetest: asyncio is woken by call_soon_threadsafe and to_thread", "confine/confinetest: an event loop starts a process and reads what it prints"},
	"75": {"confine/confinetest: a socketpair sends and receives"},
	"76": {"confine/confinetest: multiprocessing works", "confine/confinetest: a pool of processes works", "confine/confinetest: a queue, a lock and a semaphore are shared with a forked process", "confine/confinetest: a pool of processes is refused with a sentence that names the tier"},
	"78": {"confine/internal/seccomp: TestAnswers", "confine/confinetest: threads run and are joined"},
	"79": {"confine/confinetest: a library keeps its cache in the home folder, and nothing is said about it"},
	"81": {"test/confine: 81: a container's usual filter in which root has no privilege", "test/confine: 81: a filter older than clone3"},
	"84": {"test/confine: TestAHostsPythonIsFoundBehindLinksAndShims", "test/confine: TestNativeWithAHostInterpreter", "test/e2e: run-unusable-python.txtar"},
	"85": {"test/confine: TestAPackMayLieBehindAnyName", "provenance/sessions: TestASessionsFolderMayHaveAnyName", "provenance/sessions: TestASessionsFolderMayBeBehindALink"},
	"86": {"test/confine: TestAnInterpreterThatGoesAwayIsNoEmptyAnswer", "test/e2e: run-no-pack.txtar"},
	"87": {"test/confine: TestAnInterpreterThatGoesAwayIsNoEmptyAnswer", "confine/internal/pack: TestAnOpenedPackNoticesThatItsManifestChanged"},

	// 6: rootless, containers, cgroups, fail-open
	"88":  {"test/confine: 88 and 89: user namespaces without power, as on Ubuntu", "test/confine: 20 and 88: user namespaces switched off", "confine/native: TestFixesNameTheSetting", "confine/native: TestTheFixesAreTheFiles"},
	"89":  {"test/confine: 88 and 89: user namespaces without power, as on Ubuntu", "confine/confinetest: a listener of the host on loopback hears nothing"},
	"90":  {"test/confine: 90 and 92: a container's usual filter"},
	"91":  {"test/confine: 91: a masked /proc"},
	"92":  {"test/confine: 90 and 92: a container's usual filter"},
	"93":  {"test/confine: 93: no Landlock", "confine/internal/landlock: TestABISaysEitherANumberOrWhyThereIsNone"},
	"95":  {"test/confine: TestWhatIsWaivedIsReportedAsNotEnforced", "confine/internal/landlock: TestMasksPerABI", "confine/internal/landlock: TestKernelAcceptsTheMasksOfItsABIAndOlder"},
	"96":  {"test/confine: TestWithoutAStepNothingRunsOrEverythingHolds", "test/confine: TestAHostThatRefusesAStepIsToldWhichAndRunsNothing"},
	"98":  {"test/confine: TestAHostThatRefusesAStepIsToldWhichAndRunsNothing", "confine/native: TestAFacetHoldsOnlyIfNothingHappenedThatHappensUnconfined", "confine/native: TestEveryFacetHasATrialThatCanHappen"},
	"99":  {"test/confine: TestWithoutAStepNothingRunsOrEverythingHolds", "confine/confinetest: a backend that cannot be set up says why, stays so, and leaves nothing"},
	"100": {"test/confine: TestWithoutAControlGroupTheReportSaysWhatLimitsInstead", "confine/internal/cgroup: TestHierarchiesAreFoundWhereTheyAreMounted"},
	"101": {"test/confine: TestWithoutAControlGroupTheReportSaysWhatLimitsInstead"},
	"102": {"test/confine: control groups that are read-only"},
	"103": {"confine/native: TestTheFixesAreTheFiles", "test/confine: TestTheContainerSettingsAreEnough"},
	"104": {"test/confine: TestThousandsOfRunsLeaveNothingAndMemoryIsFlat", "confine/internal/cgroup: TestSweepTakesTheDeadAndNothingElse"},
	"105": {"test/confine: TestNothingOutlivesAKilledServer"},

	// 7: security
	"106": {"provenance/sessions: TestAHostileFolderSpoilsOneTurnAndShowsNothing"},
	"109": {"provenance/sessions: TestAHostileFolderSpoilsOneTurnAndShowsNothing"},
	"111": {"provenance/sessions: TestALookalikeOfAURIIsUnknown", "provenance/sessions: TestOddNamesAreSkipped"},
	"112": {"confine/confinetest: 3/fd: open ones", "confine/confinetest: 3/fd: openat games", "confine/confinetest: 3/fd: the work folder", "confine/confinetest: no descriptor is open above 2, and the report names Landlock"},
	"113": {"confine/confinetest: keys and other secrets in the host's environment are neither seen by name nor by value", "confine/confinetest: 5/read /proc/SERVER/", "confine/confinetest: 5/environ of others", "confine/confinetest: 4/environment: canary"},
	"115": {"confine/confinetest: 2/int 0x80, ", "confine/internal/seccomp: TestOtherArchitecturesAnswerENOSYS"},
	"116": {"test/confine: TestAnOpenConnectionOfTheServerIsOutOfReach"},
	"117": {"confine/confinetest: 6/TIOCSTI into a real terminal", "confine/confinetest: 6/terminal"},
	"119": {"test/confine: TestAServerWithoutDescriptorsRunsNothingUnwatched"},
	"121": {"test/confine: TestAServerListensNowhere"},
	"122": {"confine/confinetest: 6/channel: /dev/shm", "confine/confinetest: 6/channel: /tmp", "confine/confinetest: 6/channel: an abstract name", "confine/confinetest: a second run sees nothing of the first"},
	"124": {"confine/confinetest: a listener of the host on loopback hears nothing", "confine/confinetest: 6/metadata 169.254.169.254"},
	"125": {"confine/confinetest: a segmentation fault is a signal", "confine/confinetest: an abort is a signal", "confine/confinetest: too deep recursion is an exception that can be caught"},
	"126": {"confine/confinetest: the environment is fixed and holds nothing else", "test/e2e: run-nothing-of-the-server.txtar"},
	"128": {"confine/confinetest: a written file is not in the host's folder", "confine/confinetest: a second run sees nothing of the first", "confine/confinetest: files written to places of the host do not appear there"},

	// Standing cases
	"standing 1": {"confine/confinetest: an empty source runs", "confine/confinetest: a source of 5 MB runs", "confine/confinetest: a byte order mark is no character", "confine/confinetest: CRLF ends lines", "confine/confinetest: a coding cookie is obeyed",
		"confine/confinetest: a syntax error shows file, line and place", "confine/confinetest: comments alone, tabs and form feeds are a program", "confine/internal/cell/python: TestExitsAreTheStockInterpreters"},
	"standing 2": {"confine/confinetest: exit statuses arrive: a sentence is 1 and printed", "confine/confinetest: exit statuses arrive: 256 is 0", "confine/confinetest: exit 137 is an exit", "confine/confinetest: an abort is a signal",
		"confine/confinetest: a segmentation fault is a signal", "confine/confinetest: an exit handler that hangs is ended by the wall clock", "confine/internal/cell/python: TestExitsAreTheStockInterpreters"},
	"standing 3": {"confine/confinetest: a wait for a signal is ended by the wall clock", "confine/confinetest: a sleep of a lifetime is ended by the wall clock", "confine/confinetest: wall: a busy loop is ended", "confine/confinetest: a number that never comes out is ended by its CPU time",
		"confine/confinetest: an expression that backtracks for ever is ended by its CPU time", "confine/confinetest: eight threads that spin are ended by their CPU time together", "confine/confinetest: CPU: threads of one program add up"},
	"standing 5":  {"test/confine: TestTheServersEnvironmentChangesNothing", "confine/confinetest: the environment is fixed and holds nothing else"},
	"standing 6":  {"confine/confinetest: who and where it is can be asked, and the host is not told", "confine/confinetest: zoneinfo knows Europe/Berlin", "confine/confinetest: locale, encodings, time zone and identity are sane"},
	"standing 7":  {"confine/confinetest: tempfile uses the private /tmp", "confine/confinetest: a library keeps its cache in the home folder, and nothing is said about it", "confine/confinetest: __file__ can be read and is in the current folder", "confine/confinetest: inspect finds the source"},
	"standing 8":  {"provenance: TestAFullDiskStopsTheRequestAndNotTheLog", "provenance: TestALogThatNobodyWouldFindStopsTheRequest", "mcp: TestWhatCannotBeLoggedDoesNotRun"},
	"standing 9":  {"runner: TestTheSeventhWorkCallIsRefusedWhateverTheInterleaving", "runner: TestALedgerIsExactUnderContention"},
	"standing 10": {"test/confine: TestThousandsOfRunsLeaveNothingAndMemoryIsFlat"},
}

const root = "../.."

// Every reported failure of those sections has a test that is there, or a reason in docs/rough-edges.md.
func TestEveryReportedFailureHasATestOrAReason(t *testing.T) {
	names := map[string]map[string]bool{}
	for _, report := range slices.Sorted(maps.Keys(provoked)) {
		for _, test := range provoked[report] {
			folder, name, _ := strings.Cut(test, ": ")
			if names[folder] == nil {
				names[folder] = testsOf(t, folder)
			}
			if !names[folder][name] {
				t.Errorf("%s: %s has no test %q", report, folder, name)
			}
		}
	}
	left := reasons(t)
	cases, err := os.ReadFile(filepath.Join(root, "..", "shared", "cases", "failures.md"))
	if errors.Is(err, fs.ErrNotExist) {
		if os.Getenv(confinetest.Require) != "" {
			t.Fatal("required by " + confinetest.Require + ": the cases beside the repository")
		}
		t.Skip("the cases are not beside the repository")
	}
	if err != nil {
		t.Fatal(err)
	}
	known := map[string]bool{}
	number, section, standing := regexp.MustCompile(`^\| (\d+) \|`), "", 0
	for line := range strings.Lines(string(cases)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section, _, _ = strings.Cut(title, " ")
			continue
		}
		report := ""
		if m := number.FindStringSubmatch(line); m != nil && slices.Contains([]string{"1.", "5.", "6.", "7."}, section) {
			report = m[1]
		} else if section == "Entries" && strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| case |") {
			standing++
			report = fmt.Sprint("standing ", standing)
		} else {
			continue
		}
		known[report] = true
		if len(provoked[report]) == 0 && left[report] == "" {
			t.Errorf("%s has neither a test nor a reason: %.200s", report, line)
		}
	}
	for report := range provoked {
		if !known[report] {
			t.Errorf("the cases have no %q in these sections", report)
		}
	}
	for report := range left {
		if !known[report] {
			t.Errorf("docs/rough-edges.md gives a reason for %q, which the cases do not have in these sections", report)
		}
	}
}

// reasons reads the table of docs/rough-edges.md whose first column has the reports.
func reasons(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs", "rough-edges.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(text), "| report | why it has no test here, or only that |")
	if !ok {
		t.Fatal("docs/rough-edges.md has no table of reports")
	}
	found := map[string]string{}
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 2 || strings.HasPrefix(cells[0], "---") {
			continue
		}
		for _, report := range strings.Split(cells[0], ",") {
			found[strings.TrimSpace(report)] = strings.TrimSpace(cells[1])
		}
	}
	return found
}

// testsOf gives the functions of a folder, the texts in its code, which name the tests of tables, and its scripts.
func testsOf(t *testing.T, folder string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if filepath.Base(name) == "failures_table_test.go" {
			continue // it names every test
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				names[n.Name.Name] = true
			case *ast.BasicLit:
				if s, err := strconv.Unquote(n.Value); err == nil && n.Kind == token.STRING {
					names[s] = true
				}
			}
			return true
		})
	}
	scripts, _ := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "testdata", "*.txtar"))
	for _, name := range scripts {
		names[filepath.Base(name)] = true
	}
	return names
}
