//go:build !linux

package builtin

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"syscall"
)

// supervised is for systems without child subreapers: the command's process group ends with the command and
// when ctx ends, but what left the group escapes, and nothing ends it when the worker is killed.
func (c command) supervised(ctx context.Context, out io.Writer) (ending, error) {
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env = c.dir, c.env
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error {
		err := syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGCONT) // what stands hears it only then
		return err
	}
	cmd.WaitDelay = termGrace
	if err := cmd.Start(); err != nil {
		return ending{}, err
	}
	forget := func() {}
	if c.begun != nil {
		forget = c.begun(group(cmd.Process.Pid))
	}
	err := cmd.Wait()
	forget()
	killed := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) == nil
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) && ctx.Err() == nil {
		return ending{}, err
	}
	end := ending{Exit: cmd.ProcessState.ExitCode(), Stopped: ctx.Err() != nil}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		end.Exit, end.Signal = 0, ws.Signal().String()
	}
	if killed && !end.Stopped {
		end.Killed = []string{"its process group"}
	}
	return end, nil
}

// group is a process group that can be stopped.
type group int

// Stop implements tool.Stopper.
func (g group) Stop() bool { return syscall.Kill(-int(g), syscall.SIGSTOP) == nil }

// Continue implements tool.Stopper.
func (g group) Continue() { _ = syscall.Kill(-int(g), syscall.SIGCONT) }
