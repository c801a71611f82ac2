//go:build linux && cgo

package native

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"

	"pdlt.dev/pdlt/confine/internal/cell"
)

// largeText is an interpreter's text on large pages. Every fork of a zygote would else find it page by page, and leave it page by page, which
// is a tenth of what a run costs.
type largeText struct {
	file   *os.File
	blocks []cell.Block
}

// enlarge copies what of an executable's read-only segments fills large pages. It is for executables that are loaded at the addresses
// they name, as the pack's is. Where the kernel has no large pages for files the error wraps errors.ErrUnsupported.
func enlarge(executable string) (*largeText, error) {
	f, err := elf.Open(executable)
	if err != nil {
		return nil, fmt.Errorf("open interpreter: %w", err)
	}
	defer f.Close()
	if f.Type != elf.ET_EXEC {
		return nil, fmt.Errorf("%s is loaded anywhere: %w", executable, errors.ErrUnsupported)
	}
	fd, err := unix.MemfdCreate("text", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, fmt.Errorf("hold text: %w", err)
	}
	t := &largeText{file: os.NewFile(uintptr(fd), "text")}
	// A memory file is everybody's to begin with, and a program may ask for the pages of what it could write to be put out of memory.
	if err = t.file.Chmod(0o400); err == nil {
		err = t.fill(f)
	}
	if err != nil {
		t.file.Close()
		return nil, err
	}
	return t, nil
}

func (t *largeText) fill(f *elf.File) error {
	var size uint64
	for _, p := range f.Progs {
		if p.Type != elf.PT_LOAD || p.Flags&elf.PF_W != 0 {
			continue
		}
		var exec uint32
		if p.Flags&elf.PF_X != 0 {
			exec = 1
		}
		for at := (p.Vaddr + cell.LargePage - 1) &^ (cell.LargePage - 1); at+cell.LargePage <= p.Vaddr+p.Filesz; at += cell.LargePage {
			if _, err := io.Copy(t.file, io.NewSectionReader(p, int64(at-p.Vaddr), cell.LargePage)); err != nil {
				return fmt.Errorf("copy text: %w", err)
			}
			t.blocks = append(t.blocks, cell.Block{Address: at, Offset: size, Exec: exec})
			size += cell.LargePage
		}
	}
	if size == 0 {
		return fmt.Errorf("no segment fills a large page: %w", errors.ErrUnsupported)
	}
	if _, err := unix.FcntlInt(t.file.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_GROW|unix.F_SEAL_SHRINK|unix.F_SEAL_SEAL); err != nil {
		return fmt.Errorf("seal text: %w", err)
	}
	return t.collapse(uintptr(size))
}

// collapse makes large pages of the file's. That is asked for a mapping of it, which must begin at a multiple of one.
func (t *largeText) collapse(size uintptr) error {
	room, err := unix.MmapPtr(-1, 0, nil, size+cell.LargePage, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS)
	if err != nil {
		return fmt.Errorf("find room for text: %w", err)
	}
	defer func() { _ = unix.MunmapPtr(room, size+cell.LargePage) }()
	at := unsafe.Add(room, -uintptr(room)&(cell.LargePage-1))
	if _, err := unix.MmapPtr(int(t.file.Fd()), 0, at, size, unix.PROT_READ, unix.MAP_SHARED|unix.MAP_FIXED); err != nil {
		return fmt.Errorf("map text: %w", err)
	}
	if err := unix.Madvise(unsafe.Slice((*byte)(at), size), unix.MADV_COLLAPSE); err != nil {
		return fmt.Errorf("ask for large pages (%w): %w", err, errors.ErrUnsupported)
	}
	return nil
}
