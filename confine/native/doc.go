// Package native confines programs with what the operating system itself offers. On Linux that is, all at once: fresh user, mount, PID,
// network, IPC, UTS and cgroup namespaces, a root that holds the interpreter and the few libraries it needs,
// Landlock, a seccomp allow-list, a cgroup (v2 or v1) or rlimits, no capability, no_new_privs, uid 1000. Other systems answer
// confine.ErrUnsupported until their backend exists.
//
// Mechanism is in confine/internal (C and Go); this package makes the choices, supervises each run and reports what was enforced.
package native
