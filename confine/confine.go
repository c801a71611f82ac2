package confine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"io/fs"
)

// A Confiner runs programs under confinement. It is safe for concurrent use; runs beyond its slots wait their turn.
type Confiner interface {
	// Run runs one program to its end and returns when every process of it is dead. What the program did is in
	// Result.Outcome and is never an error. An error is a *[Refusal] (nothing ran, the caller can fix it), ErrClosed, or a fault
	// of this machine or of ours. A cancelled ctx kills the program: the outcome is StoppedCancelled. A ctx that is done before the program
	// was started is an error that wraps ctx.Err().
	Run(ctx context.Context, s Spec) (Result, error)
	// Probe tries each facet in throw-away cells and says what holds on this machine.
	Probe(ctx context.Context) (Diagnosis, error)
	// Close kills what still runs and gives back everything the operating system lent. It is idempotent.
	Close() error
}

// Describer is a Confiner that can say, before any run, what will run Python programs.
type Describer interface {
	// Interpreter is what the reports of its Python runs will name.
	Interpreter() Interpreter
}

// Spec is one run: what, under which policy, within which limits.
type Spec struct {
	Program Program
	Policy  Policy
	Limits  Limits
	// Stdout and Stderr, when not nil, are given every byte of the program's streams in order, also those that the outcome drops.
	// They are called from one goroutine, must not block, and their errors are ignored.
	Stdout, Stderr io.Writer
}

// Program is what to run, before anything ran. It is a Python program when Entry is set, else a host command.
type Program struct {
	// Files are written below the private work folder, which is the current directory.
	Files []File
	// Entry names the file a Python program starts with.
	Entry string
	// Argv: for Python the arguments after the entry (sys.argv[1:]); for a host command its path and arguments.
	Argv []string
	// Env adds variables ("NAME=value") to the fixed environment. Nothing of the server's environment is passed.
	Env []string
	// Roots are absolute host paths that a host command may read and execute. Python programs have none.
	Roots []string
}

// File is a file of a program. Name is slash-separated and stays below the work folder; Mode holds permission bits, 0 means 0644.
type File struct {
	Name string
	Mode fs.FileMode
	Data []byte
}

// PythonFile is the name under which [Python] delivers a source, and the one its tracebacks show.
const PythonFile = "program.py"

// Python is the program that consists of one source.
func Python(source []byte) Program {
	return Program{Files: []File{{Name: PythonFile, Data: source}}, Entry: PythonFile}
}

// ProgramID names a program by content. Digest is "sha256:" and hex: of the source itself for a program of one file without
// arguments, so that anyone can check it, else of the canonical JSON of names, digests, arguments and variables.
type ProgramID struct {
	Digest string `json:"digest"`
	Bytes  int64  `json:"bytes"` // of all files together
}

// ID computes the program's name.
func (p Program) ID() ProgramID {
	id := ProgramID{}
	for _, f := range p.Files {
		id.Bytes += int64(len(f.Data))
	}
	if len(p.Files) == 1 && len(p.Argv) == 0 && len(p.Env) == 0 && p.Entry != "" {
		id.Digest = digestOf(p.Files[0].Data)
		return id
	}
	type file struct {
		Digest string `json:"digest"`
		Mode   uint32 `json:"mode"`
		Name   string `json:"name"`
	}
	v := struct {
		Argv  []string `json:"argv"`
		Entry string   `json:"entry"`
		Env   []string `json:"env"`
		Files []file   `json:"files"`
		Roots []string `json:"roots"`
	}{Argv: p.Argv, Entry: p.Entry, Env: p.Env, Roots: p.Roots}
	for _, f := range p.Files {
		v.Files = append(v.Files, file{digestOf(f.Data), uint32(f.Mode.Perm()), f.Name})
	}
	id.Digest = digestOf(mustJSON(v))
	return id
}

func digestOf(b []byte) string {
	s := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(s[:])
}

// mustJSON encodes values of this package that consist of strings, numbers, slices and structs, which cannot fail.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("confine: encode " + err.Error())
	}
	return b
}

// Result is a finished run. Its JSON form is what `pdlt run --json` prints.
type Result struct {
	Outcome Outcome   `json:"outcome"`
	Report  Report    `json:"report"`
	Program ProgramID `json:"program"`
}

// StartMode says how a program gets its interpreter. The semantics are the same in all three.
type StartMode string

// The start modes.
const (
	StartAuto   StartMode = ""       // the fastest that keeps every required facet
	StartCold   StartMode = "cold"   // the cell execs the interpreter when the program arrives
	StartWarm   StartMode = "warm"   // a cell whose interpreter is up waits for one program
	StartZygote StartMode = "zygote" // a pristine interpreter is forked into fresh namespaces for each program
)

// Options configure a Confiner. The zero value is the default.
type Options struct {
	// Start is how programs start; StartAuto chooses.
	Start StartMode
	// Slots bounds the programs that run at once; 0 means one for each CPU, at least two.
	Slots int
	// Python is the path of a host CPython 3.10 … 3.14; empty means the interpreter pack.
	Python string
	// Pack is the folder that holds the interpreter pack; empty means "pack" beside the executable.
	Pack string
	// HashSeed is PYTHONHASHSEED: "0" … "4294967295" or "random". Empty means "0".
	HashSeed string
	// NoHints leaves refusals inside the interpreter as the kernel's errno, without a sentence. The suite
	// runs both ways, since the sentences are no boundary.
	NoHints bool
}
