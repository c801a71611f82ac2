// Package seccomp compiles the system call filters of a cell: an allow-list for one interpreter and its threads, with a
// few switches.
//
// What is promised of a filter made by Build, on the architectures it knows (amd64 and arm64):
//
//   - A call the table allows reaches the kernel only with arguments the table allows. Arguments are compared as the
//     kernel reads them: where it takes 32 bits of a 64-bit register, so does the filter, so that garbage above them
//     changes neither answer.
//   - A call the table refuses answers EPERM. A call the table does not know, one newer than the table, one made
//     through another architecture's entry (int 0x80, x32) and those that programs fall back from (clone3, io_uring)
//     answer ENOSYS. Nothing is ever killed, trapped, logged or handed to a supervisor.
//   - The program is checked against the table by evaluating it, instruction by instruction, in this package's tests.
//
// What is not promised: a filter cannot see what a pointer points to, nor which file a descriptor is. Paths, who may be
// signalled and what a descriptor reaches are bounded by namespaces, mounts and Landlock; the comments in table.go say
// for each call with such a dependence what it leans on. Filters stack, and the strictest answer wins: a process that
// runs under two of them has what both allow.
//
// Building needs Linux, cgo, libseccomp and the build tag seccomp; without them Build answers an error that satisfies
// errors.Is(err, errors.ErrUnsupported). On other systems the package holds only the table.
package seccomp
