package builtin

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// supervision is the worker's side of a running supervisor.
type supervision struct {
	cmd    *exec.Cmd
	life   *os.File // write end; cut, it makes the supervisor kill everything
	status *os.File // read end
	output *os.File // read end
	marker string
	copied chan struct{} // closed when all output was read
	ended  chan ending   // gets one ending
}

func (c command) supervised(ctx context.Context, out io.Writer) (ending, error) {
	s, err := c.supervise()
	if err != nil {
		return ending{}, err
	}
	defer s.close()
	go func() {
		defer close(s.copied)
		_, _ = io.Copy(out, s.output)
	}()
	go s.await()
	if _, err := s.life.Write([]byte{orderStart}); err != nil {
		return ending{}, fmt.Errorf("the command's supervisor did not start: %w", err)
	}
	end := s.wait(ctx)
	// Only what could not be ended holds the pipe any longer.
	_ = s.output.SetReadDeadline(time.Now().Add(drainPatience))
	<-s.copied
	if end.Failed != "" {
		return end, errors.New(end.Failed)
	}
	return end, nil
}

// supervise starts the supervisor, which waits for its first order.
func (c command) supervise() (*supervision, error) {
	s := &supervision{marker: rand.Text(), copied: make(chan struct{}), ended: make(chan ending, 1)}
	var far []*os.File // the supervisor's ends
	defer func() { closeAll(far...) }()
	pipe := func(reading bool) (*os.File, error) {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		if reading {
			far = append(far, w)
			return r, nil
		}
		far = append(far, r)
		return w, nil
	}
	var err1, err2, err3 error
	s.life, err1 = pipe(false)
	s.status, err2 = pipe(true)
	s.output, err3 = pipe(true)
	if err := errors.Join(err1, err2, err3); err != nil {
		s.close()
		return nil, err
	}
	s.cmd = &exec.Cmd{
		// Whatever binary this is, also when it has been replaced on disk since.
		Path:       "/proc/self/exe",
		Args:       append([]string{supervisorName}, c.argv...),
		Dir:        c.dir,
		Env:        append(c.env, markerVar+"="+s.marker),
		ExtraFiles: far,
		// A session of its own takes it off the worker's terminal, so nothing can ask a question there. The
		// death signal wakes it, should it have been stopped; it then finds its life line cut. It may come
		// early, when only the thread that started it ends, and does no harm then.
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGCONT},
	}
	if err := s.cmd.Start(); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

// await reads the supervisor's report. Without one, the supervisor was killed.
func (s *supervision) await() {
	var end ending
	if err := json.NewDecoder(io.LimitReader(s.status, 1<<20)).Decode(&end); err != nil {
		end = ending{Lost: true}
	}
	s.ended <- end
}

// wait is for the end of the command, or stops it when ctx ends.
func (s *supervision) wait(ctx context.Context) ending {
	select {
	case end := <-s.ended:
		return s.settle(end)
	case <-ctx.Done():
	}
	// It may have been stopped by what it supervises.
	_ = s.cmd.Process.Signal(syscall.SIGCONT)
	_, _ = s.life.Write([]byte{orderStop})
	end, ok := s.within(stopPatience)
	if !ok {
		_ = s.life.Close()
		if end, ok = s.within(lastPatience); !ok {
			_ = s.cmd.Process.Kill()
			end = ending{Lost: true}
		}
	}
	end.Stopped = true
	end.Killed = nil // all of it was to end
	return s.settle(end)
}

func (s *supervision) within(d time.Duration) (ending, bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case end := <-s.ended:
		return end, true
	case <-timer.C:
		return ending{}, false
	}
}

// settle cleans up after a supervisor that could not do so.
func (s *supervision) settle(end ending) ending {
	if end.Lost {
		end.Left = sweep(s.marker)
	}
	return end
}

// close lets go of everything. What the supervisor has not ended yet, it ends now; it stays for as long as that
// takes, and close does not.
func (s *supervision) close() {
	closeAll(s.life, s.status, s.output)
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		_ = s.cmd.Wait()
	}()
	select {
	case <-gone:
	case <-time.After(exitPatience):
	}
}
