package builtin

import "golang.org/x/sys/unix"

// Shield hides this process's environment and memory from other processes of the same user. A command gets a
// scrubbed environment, but could otherwise read the worker's own from /proc. A worker calls it once, at its
// start. The price: debuggers can't attach to it, and it leaves no core dump. A privileged user sees
// everything still, so a worker should not run as root.
func Shield() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
