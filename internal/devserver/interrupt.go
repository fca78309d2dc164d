package devserver

import (
	"os"
	"runtime"
	"syscall"
)

// interrupt asks a process to end. One that can't be asked is killed; one that is gone needs neither, so
// errors say nothing that the caller's wait does not.
func interrupt(p *os.Process) {
	if runtime.GOOS == "windows" {
		_ = p.Kill()
		return
	}
	_ = p.Signal(syscall.SIGTERM)
}
