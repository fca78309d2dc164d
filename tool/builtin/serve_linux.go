package builtin

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// keeperName is argv[0] of a supervisor whose program has its standard streams.
const keeperName = "holdpoint-keeper"

// endGrace is how long a program has for ending by itself once its input is at its end.
const endGrace = 500 * time.Millisecond

func startProgram(c command) (*Program, error) {
	p, theirs, err := pipes()
	if err != nil {
		return nil, err
	}
	defer closeAll(theirs[:]...)
	s, err := c.keep(theirs)
	if err != nil {
		closeAll(p.files()...)
		return nil, err
	}
	go s.await()
	p.end = sync.OnceValue(func() error {
		_ = p.Stdin.Close()
		ctx, cancel := context.WithTimeout(context.Background(), endGrace)
		defer cancel()
		end := s.wait(ctx)
		s.close()
		closeAll(p.files()...)
		switch {
		case end.Failed != "":
			return errors.New(end.Failed)
		case end.Left > 0:
			return errors.New(plural(end.Left, "process") + " of the program could not be ended")
		}
		return nil
	})
	return p, nil
}

func (p *Program) files() (out []*os.File) {
	for _, s := range []any{p.Stdin, p.Stdout, p.Stderr} {
		if f, ok := s.(*os.File); ok {
			out = append(out, f)
		}
	}
	return out
}

// keep starts a supervisor and lets it start the program.
func (c command) keep(streams [3]*os.File) (*supervision, error) {
	s := newSupervision()
	life, lifeEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.life = lifeEnd
	status, statusEnd, err := os.Pipe()
	if err != nil {
		closeAll(life, lifeEnd)
		return nil, err
	}
	s.status = status
	defer closeAll(life, statusEnd)
	s.cmd = &exec.Cmd{Path: "/proc/self/exe", Args: append([]string{keeperName}, c.argv...), Dir: c.dir,
		Env: append(c.env, markerVar+"="+s.marker), Stdin: streams[0], Stdout: streams[1], Stderr: streams[2],
		ExtraFiles:  []*os.File{life, statusEnd},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT}} // as for commands
	if err := s.cmd.Start(); err != nil {
		s.close()
		return nil, err
	}
	if _, err := s.life.Write([]byte{orderStart}); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// letGo leaves a program's streams to it: their ends must be seen when the program's are closed.
func letGo() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	for fd := range 3 {
		if err := unix.Dup3(int(null.Fd()), fd, 0); err != nil {
			return err
		}
	}
	return nil
}
