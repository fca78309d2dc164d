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
	"sync"
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
	over   chan struct{} // closed when there are no more reports

	order sync.Mutex // held by who waits for the answer to an order
	stood chan bool  // answers to orders to stand
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
	forget := func() {}
	if c.begun != nil {
		forget = c.begun(s)
	}
	end := s.wait(ctx)
	forget()
	// Only what could not be ended holds the pipe any longer.
	_ = s.output.SetReadDeadline(time.Now().Add(drainPatience))
	<-s.copied
	if end.Failed != "" {
		return end, errors.New(end.Failed)
	}
	return end, nil
}

func newSupervision() *supervision {
	return &supervision{marker: rand.Text(), ended: make(chan ending, 1), over: make(chan struct{}), stood: make(chan bool, 1)}
}

// supervise starts the supervisor, which waits for its first order.
func (c command) supervise() (*supervision, error) {
	s := newSupervision()
	s.copied = make(chan struct{})
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

// await reads the supervisor's reports. Without the last one, the supervisor was killed.
func (s *supervision) await() {
	defer close(s.over)
	for reports := json.NewDecoder(io.LimitReader(s.status, 1<<20)); ; {
		var r report
		if err := reports.Decode(&r); err != nil {
			s.ended <- ending{Lost: true}
			return
		}
		if r.End != nil {
			s.ended <- *r.End
			return
		}
		select {
		case s.stood <- r.Stands:
		default: // nobody waits for it any more
		}
	}
}

// Stop implements tool.Stopper: each process of the command is stopped by a signal that none can ignore.
func (s *supervision) Stop() bool {
	s.order.Lock()
	defer s.order.Unlock()
	select {
	case <-s.stood: // an answer that came too late
	default:
	}
	if _, err := s.life.Write([]byte{orderStand}); err != nil {
		return false
	}
	timer := time.NewTimer(answerPatience)
	defer timer.Stop()
	select {
	case stands := <-s.stood:
		return stands
	case <-s.over:
	case <-timer.C:
		_, _ = s.life.Write([]byte{orderGo})
	}
	return false
}

// Continue implements tool.Stopper.
func (s *supervision) Continue() { _, _ = s.life.Write([]byte{orderGo}) }

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
