package builtin

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// children are the process ids of this process's children, ended but unreaped ones included.
func children() []int {
	return childrenOf(os.Getpid())
}

// childrenOf are those of another process.
func childrenOf(pid int) []int {
	lists, _ := filepath.Glob(procFile(pid, "task/*/children"))
	if len(lists) == 0 {
		return childrenByStat(pid)
	}
	var out []int
	for _, list := range lists {
		text, err := os.ReadFile(list)
		if err != nil {
			continue // the thread ended
		}
		for _, field := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}

// childrenByStat is for kernels without lists of children.
func childrenByStat(of int) []int {
	var out []int
	for _, pid := range processes() {
		if parentOf(pid) == of {
			out = append(out, pid)
		}
	}
	return out
}

// processes are all process ids of this machine that /proc shows.
func processes() []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var out []int
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			out = append(out, pid)
		}
	}
	return out
}

// parentOf is the parent's process id, 0 if there is no such process. The name in the stat file may hold
// blanks and parentheses, so fields count from its last parenthesis.
func parentOf(pid int) int {
	parent, _ := strconv.Atoi(statField(pid, 1))
	return parent
}

// stateOf is the letter of a process's state, 0 if there is no such process.
func stateOf(pid int) byte {
	if state := statField(pid, 0); state != "" {
		return state[0]
	}
	return 0
}

// statField is a field of the stat file, counted from behind the name.
func statField(pid, n int) string {
	stat, err := os.ReadFile(procFile(pid, "stat"))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= n {
		return ""
	}
	return fields[n]
}

func processName(pid int) string {
	name, err := os.ReadFile(procFile(pid, "comm"))
	if err != nil {
		return "?"
	}
	return strings.TrimSpace(string(name))
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

// sweep kills what carries the marker in its environment: the processes of a command whose supervisor was
// killed. It tries for a short while and returns how many are left.
func sweep(marker string) int {
	wanted := []byte(markerVar + "=" + marker)
	left := 0
	for deadline := time.Now().Add(lastPatience); ; time.Sleep(5 * time.Millisecond) {
		left = 0
		for _, pid := range processes() {
			if marked(pid, wanted) {
				left++
				killMarked(pid, wanted)
			}
		}
		if left == 0 || time.Now().After(deadline) {
			return left
		}
	}
}

func marked(pid int, wanted []byte) bool {
	env, err := os.ReadFile(procFile(pid, "environ"))
	if err != nil {
		return false
	}
	for _, v := range bytes.Split(env, []byte{0}) {
		if bytes.Equal(v, wanted) {
			return true
		}
	}
	return false
}

// killMarked signals through a process descriptor and looks again after it has it, so that a process id that
// was reused in between is spared.
func killMarked(pid int, wanted []byte) {
	p, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	defer func() { _ = p.Release() }()
	if marked(pid, wanted) {
		_ = p.Signal(syscall.SIGKILL)
	}
}
