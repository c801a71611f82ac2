//go:build cgo && seccomp

package seccomp

import (
	"encoding/binary"
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	auditArchX86_64  = 0xc000003e
	auditArchI386    = 0x40000003
	auditArchAARCH64 = 0xc00000b7
	auditArchARM     = 0x40000028

	retAllow = unix.SECCOMP_RET_ALLOW
	retEPERM = unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
	retNoSys = unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)
)

// seccompData is struct seccomp_data.
type seccompData struct {
	nr   uint32
	arch uint32
	ip   uint64
	args [6]uint64
}

// run evaluates a filter as the kernel does (kernel/seccomp.c seccomp_check_filter lists the instructions it takes):
// everything it would refuse to load, and every way out of the program but a return, is an error. It also returns the
// number of instructions executed.
func run(prog []unix.SockFilter, d seccompData) (ret uint32, steps int, err error) {
	var mem [64]byte
	le := binary.LittleEndian // both architectures in question
	le.PutUint32(mem[0:], d.nr)
	le.PutUint32(mem[4:], d.arch)
	le.PutUint64(mem[8:], d.ip)
	for i, a := range d.args {
		le.PutUint64(mem[16+8*i:], a)
	}
	var a, x uint32
	var scratch [16]uint32
	for pc := 0; pc >= 0 && pc < len(prog); pc++ {
		in := prog[pc]
		steps++
		operand := in.K
		if in.Code&unix.BPF_X != 0 {
			operand = x
		}
		switch in.Code &^ unix.BPF_X {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			if in.K%4 != 0 || in.K >= uint32(len(mem)) {
				return 0, steps, fmt.Errorf("instruction %d loads from offset %d", pc, in.K)
			}
			a = le.Uint32(mem[in.K:])
		case unix.BPF_LD | unix.BPF_IMM:
			a = in.K
		case unix.BPF_LDX | unix.BPF_IMM:
			x = in.K
		case unix.BPF_LD | unix.BPF_MEM:
			a = scratch[in.K]
		case unix.BPF_LDX | unix.BPF_MEM:
			x = scratch[in.K]
		case unix.BPF_ST:
			scratch[in.K] = a
		case unix.BPF_ALU | unix.BPF_AND:
			a &= operand
		case unix.BPF_ALU | unix.BPF_OR:
			a |= operand
		case unix.BPF_JMP | unix.BPF_JA:
			pc += int(in.K)
		case unix.BPF_JMP | unix.BPF_JEQ, unix.BPF_JMP | unix.BPF_JGT, unix.BPF_JMP | unix.BPF_JGE, unix.BPF_JMP | unix.BPF_JSET:
			var yes bool
			switch in.Code & 0xf0 {
			case unix.BPF_JEQ:
				yes = a == operand
			case unix.BPF_JGT:
				yes = a > operand
			case unix.BPF_JGE:
				yes = a >= operand
			case unix.BPF_JSET:
				yes = a&operand != 0
			}
			if yes {
				pc += int(in.Jt)
			} else {
				pc += int(in.Jf)
			}
		case unix.BPF_RET:
			return in.K, steps, nil
		default:
			return 0, steps, fmt.Errorf("instruction %d has code %#x", pc, in.Code)
		}
	}
	return 0, steps, fmt.Errorf("ran off the end of the program")
}

// wellFormed reports a jump that leaves the program, or a program that does not end in a return.
func wellFormed(prog []unix.SockFilter) error {
	for pc, in := range prog {
		if in.Code&7 != unix.BPF_JMP {
			continue
		}
		far := int(max(in.Jt, in.Jf))
		if in.Code&0xf0 == unix.BPF_JA {
			far = int(in.K)
		}
		if pc+1+far >= len(prog) {
			return fmt.Errorf("instruction %d jumps out of the program", pc)
		}
	}
	if len(prog) == 0 || prog[len(prog)-1].Code&7 != unix.BPF_RET {
		return fmt.Errorf("the program does not end in a return")
	}
	return nil
}

func verdictName(ret uint32) string {
	switch ret {
	case retAllow:
		return "allow"
	case retEPERM:
		return "EPERM"
	case retNoSys:
		return "ENOSYS"
	}
	return fmt.Sprintf("%#x", ret)
}
