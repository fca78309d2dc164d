package builtin

import (
	"encoding/json"
	"math"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// supervisorName is argv[0] of a supervisor: the worker's own binary, executed again.
const supervisorName = "holdpoint-supervisor"

// A supervisor's descriptors, and what the worker writes into its life line. The end of the life line says
// that the worker is gone.
const (
	lifeFD   = 3
	statusFD = 4
	outputFD = 5

	orderStart = 'G'
	orderStop  = 'T'
	orderStand = 'P' // answered by a report
	orderGo    = 'C'
)

// report is what a supervisor tells the worker: whether all stands that it was told to stop, or, last, the end.
type report struct {
	Stands bool    `json:"stands,omitempty"`
	End    *ending `json:"end,omitempty"`
}

// init turns a process that was started as a supervisor into one. It is here, and not in main, so that every
// binary that imports this package can run commands, test binaries included.
func init() {
	if len(os.Args) > 1 && (os.Args[0] == supervisorName || os.Args[0] == keeperName) {
		os.Exit(supervise(os.Args[1:], os.Args[0] == keeperName))
	}
}

// supervisor owns all processes of one command. It is a child subreaper: a process whose parent dies becomes
// its child, whatever session or group it moved to. So killing children until there are none kills every
// descendant; and since nobody else reaps them, none of their process ids can be reused before it is signalled.
type supervisor struct {
	main    int  // bash, or a program
	talks   bool // the program has our standard streams, which are its only
	ended   bool
	end     ending
	orders  chan byte
	chld    chan os.Signal
	phase   phase
	patient <-chan time.Time // when the present phase is over
	status  *os.File
	stopped []int // processes that we have stopped, parents first
}

type phase int

const (
	running     phase = iota
	settling          // the command ended; what it left may end by itself
	terminating       // SIGTERM was sent
	killing           // SIGKILL, again and again
)

// supervise runs argv and returns when no process of it is left.
func supervise(argv []string, talks bool) int {
	s := &supervisor{talks: talks, orders: make(chan byte), chld: make(chan os.Signal, 1), status: os.NewFile(statusFD, "status")}
	// Whatever the worker itself inherited must not reach the command.
	if err := closeOnExec(); err != nil {
		return s.fail(err)
	}
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return s.fail(err)
	}
	// Signals are caught, not ignored: what is ignored would stay so in the command. Only the worker decides.
	signal.Notify(make(chan os.Signal, 1))
	signal.Reset(syscall.SIGCHLD)
	signal.Notify(s.chld, syscall.SIGCHLD)

	life := os.NewFile(lifeFD, "life")
	var first [1]byte
	if n, _ := life.Read(first[:]); n != 1 || first[0] != orderStart {
		return 1
	}
	if err := s.start(argv); err != nil {
		return s.fail(err)
	}
	go s.listen(life)
	s.loop()
	return 0
}

func (s *supervisor) fail(err error) int {
	s.end.Failed = err.Error()
	s.report()
	return 1
}

func closeOnExec() error {
	if err := unix.CloseRange(lifeFD, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err == nil {
		return nil
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if fd, err := strconv.Atoi(e.Name()); err == nil && fd >= lifeFD {
			unix.CloseOnExec(fd)
		}
	}
	return nil
}

func (s *supervisor) start(argv []string) error {
	files := []uintptr{0, outputFD, outputFD}
	if s.talks {
		files = []uintptr{0, 1, 2}
	}
	// Programs expect to block when they print faster than is read.
	for _, fd := range files {
		if err := syscall.SetNonblock(int(fd), false); err != nil {
			return err
		}
	}
	pid, err := syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Env:   os.Environ(),
		Files: files,
		// init runs on the main thread, which lives as long as the process: only its death is told.
		Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL},
	})
	if err != nil {
		return &os.PathError{Op: "exec", Path: argv[0], Err: err}
	}
	s.main = pid
	if s.talks {
		return letGo()
	}
	return syscall.Close(outputFD)
}

// listen passes orders on; the end of the life line closes the channel.
func (s *supervisor) listen(life *os.File) {
	defer close(s.orders)
	buf := make([]byte, 1)
	for {
		if n, err := life.Read(buf); n != 1 || err != nil {
			return
		}
		s.orders <- buf[0]
	}
}

// loop returns when no child is left. All reaping and signalling happens here, in one goroutine.
func (s *supervisor) loop() {
	orders, tick := s.orders, time.Millisecond
	for s.reap() {
		if s.ended && s.phase == running {
			s.enter(settling, settleGrace)
		}
		var again <-chan time.Time
		if s.phase == killing {
			s.kill()
			again = time.After(tick)
			tick = min(tick*2, 50*time.Millisecond)
		}
		select {
		case <-s.chld:
		case <-again:
		case order, alive := <-orders:
			if !alive {
				orders = nil
				s.enter(killing, killPatience)
			} else {
				s.obey(order)
			}
		case <-s.patient:
			s.next()
		}
	}
	s.report()
}

func (s *supervisor) obey(order byte) {
	switch {
	case order == orderStop && len(s.stopped) > 0: // what stands has no last words
		s.enter(killing, killPatience)
	case order == orderStop && s.phase < terminating:
		s.terminate(termGrace)
	case order == orderStand:
		s.tell(report{Stands: s.phase == running && s.stand()})
	case order == orderGo && s.phase == running:
		s.goOn()
	}
}

func (s *supervisor) enter(p phase, patience time.Duration) {
	s.phase = p
	s.patient = time.After(patience)
}

// next is what follows when a phase's patience is over.
func (s *supervisor) next() {
	switch s.phase {
	case settling:
		for _, pid := range children() {
			s.end.Killed = append(s.end.Killed, processName(pid))
		}
		s.terminate(strayGrace)
	case terminating:
		s.enter(killing, killPatience)
	case killing:
		// Say so, and go on trying for as long as it takes.
		s.patient = nil
		s.end.Left = len(children())
		s.report()
	case running:
	}
}

// terminate asks to end: the group while bash leads it, since its id can't be reused as long as it is not
// reaped, and in any case what is our child.
func (s *supervisor) terminate(grace time.Duration) {
	if !s.ended {
		_ = syscall.Kill(-s.main, syscall.SIGTERM)
		_ = syscall.Kill(-s.main, syscall.SIGCONT)
	}
	for _, pid := range children() {
		if pid != s.main {
			_ = syscall.Kill(pid, syscall.SIGTERM)
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	}
	s.enter(terminating, grace)
}

func (s *supervisor) kill() {
	if !s.ended {
		_ = syscall.Kill(-s.main, syscall.SIGKILL)
	}
	for _, pid := range children() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// reap takes in what has ended and reports whether a child is left.
func (s *supervisor) reap() bool {
	for {
		var ws syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &ws, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return false // ECHILD
		case pid == 0:
			return true
		case pid == s.main:
			s.ended = true
			s.end.Exit = ws.ExitStatus()
			if ws.Signaled() {
				s.end.Signal = unix.SignalName(ws.Signal())
			}
		}
	}
}

// report tells the worker once.
func (s *supervisor) report() {
	if s.status == nil {
		return
	}
	s.tell(report{End: &s.end})
	_ = s.status.Close()
	s.status = nil
}

func (s *supervisor) tell(r report) {
	if s.status != nil {
		_ = json.NewEncoder(s.status).Encode(r) // a worker that is gone is told by the life line
	}
}
