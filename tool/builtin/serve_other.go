//go:build !linux

package builtin

import (
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// startProgram is for systems without child subreapers: the program's process group ends with Close; what left the group
// escapes, and after a killed worker a program ends only because its input does.
func startProgram(c command) (*Program, error) {
	p, theirs, err := pipes()
	if err != nil {
		return nil, err
	}
	defer closeAll(theirs[:]...)
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env = c.dir, c.env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs[0], theirs[1], theirs[2]
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		_, _, _ = p.Stdin.Close(), p.Stdout.Close(), p.Stderr.Close()
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait()
	}()
	p.end = sync.OnceValue(func() error {
		_ = p.Stdin.Close()
		for _, signal := range []syscall.Signal{0, syscall.SIGTERM, syscall.SIGKILL} {
			_ = syscall.Kill(-cmd.Process.Pid, signal)
			select {
			case <-ended:
			case <-time.After(termGrace / 2):
			}
		}
		return nil
	})
	return p, nil
}
