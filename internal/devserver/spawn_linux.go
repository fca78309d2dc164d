package devserver

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// forks has the starts to make; forker makes them.
var (
	forks     = make(chan fork)
	startOnce sync.Once
)

type fork struct {
	cmd  *exec.Cmd
	done chan<- error
}

// spawn starts cmd so that the kernel kills it when this process ends, however it ends: nothing of ours runs
// after a kill -9, so only the kernel can do it.
//
// The kernel's "parent death signal" is sent when the thread that forked ends, not when its process does. Go
// moves goroutines between threads and ends idle threads as it likes, so a child forked from an ordinary
// goroutine would be killed at some quiet moment. All forks are therefore made by one goroutine that is locked
// to its thread and never returns: that thread lives exactly as long as the process.
func spawn(cmd *exec.Cmd) error {
	startOnce.Do(func() { go forker() })
	// A group of its own keeps a Ctrl-C at the terminal from reaching the server before this process has
	// stopped what depends on it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	done := make(chan error, 1)
	forks <- fork{cmd: cmd, done: done}
	return <-done
}

func forker() {
	runtime.LockOSThread() // and never unlocked
	for f := range forks {
		f.done <- f.cmd.Start()
	}
}
