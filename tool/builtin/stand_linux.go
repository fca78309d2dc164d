package builtin

import (
	"slices"
	"syscall"
	"time"
)

// standStep is how long a signal is given to take effect before the processes are looked at again.
const standStep = 2 * time.Millisecond

// stand stops every process of the command where it is, parents before their children, and reports whether all of them
// stand. If they can't be brought to, all go on.
func (s *supervisor) stand() bool {
	for end := time.Now().Add(standPatience); ; time.Sleep(standStep) {
		if s.halt(children()) {
			return true
		}
		if time.Now().After(end) {
			s.goOn()
			return false
		}
	}
}

// halt stops these processes and their descendants, and reports whether none of them moved. What stands starts no
// others: its children, read after that was seen, are all that it has.
func (s *supervisor) halt(pids []int) bool {
	still := true
	for _, pid := range pids {
		switch stateOf(pid) {
		case 'T', 't', 'Z', 'X', 0: // stopped, traced, or gone
		default:
			still = false
			if syscall.Kill(pid, syscall.SIGSTOP) == nil && !slices.Contains(s.stopped, pid) {
				s.stopped = append(s.stopped, pid)
			}
		}
		still = s.halt(childrenOf(pid)) && still
	}
	return still
}

// goOn continues what we have stopped, children before their parents, so that no parent sees a child that stands.
func (s *supervisor) goOn() {
	for _, pid := range slices.Backward(s.stopped) {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	s.stopped = nil
}
