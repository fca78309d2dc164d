package app_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
)

// inTheMiddle are runs killed in the middle of a command, named for what a person then says.
var inTheMiddle = []struct {
	says   interaction.Action
	ends   string // the run
	told   string // the model, where it is told anything
	begins int    // how often the command began in all
}{
	{says: interaction.ActionApprove, ends: "completed", told: "finished", begins: 2},
	{says: interaction.ActionSkip, ends: "completed", told: notKnown, begins: 1},
	{says: interaction.ActionTerminate, ends: "aborted", begins: 1},
}

// bashScript's commands leave their process ids, say that they have begun, and go on for long, unless there is a
// file that lets them end.
func bashScript() string {
	var b strings.Builder
	b.WriteString("turns:\n")
	for _, m := range inTheMiddle {
		fmt.Fprintf(&b, "  - when: {user: %s}\n    calls: [{name: bash, args: {command: %q}}]\n", m.says,
			"echo $$ >> pids; sleep 600 & echo $! >> pids; echo begun >> "+string(m.says)+
				"; test -e go || wait; kill $!; echo finished")
	}
	b.WriteString("  - say: \"It said: {{result}}\"\n")
	return b.String()
}

func TestACommandKilledInTheMiddleIsAskedAboutAndNotRepeated(t *testing.T) {
	t.Parallel()
	sideBySide(t,
		subtest{"worker", func(t *testing.T) { killedInBash(t, workerAlone) }},
		subtest{"whole process", func(t *testing.T) { killedInBash(t, wholeDev) }})
}

func killedInBash(t *testing.T, r role) {
	c := newCrash(t, r, bashScript())
	c.start()
	runs := map[interaction.Action]apptest.RunView{}
	for _, m := range inTheMiddle {
		run := c.begin(string(m.says))
		runs[m.says] = run
		c.says(interaction.ActionApprove, c.Waits(run.RunID, 1)[0].ID, reviewer1)
		c.Eventually("the command to begin", func() bool { return len(c.lines(filepath.Join(c.Dir, string(m.says)))) == 1 })
	}
	pids := c.lines(filepath.Join(c.Dir, "pids"))
	if len(pids) != 2*len(runs) || !slices.ContainsFunc(pids, lives) {
		t.Fatalf("the commands' processes are %v", pids)
	}
	c.kill()
	c.Eventually("the commands' processes to end with it", func() bool { return !slices.ContainsFunc(pids, lives) })
	c.restart()
	for _, m := range inTheMiddle {
		run, file := runs[m.says], filepath.Join(c.Dir, string(m.says))
		asked := c.Waits(run.RunID, 1)[0]
		if n := len(c.lines(file)); asked.Kind != interaction.KindOutcomeUnknown || n != 1 {
			t.Errorf("after the restart the command has begun %d times and what is asked is of kind %s", n, asked.Kind)
		}
		if m.says == interaction.ActionApprove {
			c.must(os.WriteFile(filepath.Join(c.Dir, "go"), nil, 0o600))
		}
		c.says(m.says, asked.ID, reviewer1)
		end := c.Ended(run.RunID)
		if end.Status != m.ends || !strings.Contains(end.Output, m.told) {
			t.Errorf("%s: it ended %s with %q; want %s with %q", m.says, end.Status, end.Output, m.ends, m.told)
		}
		if n := len(c.lines(file)); n != m.begins {
			t.Errorf("%s: the command began %d times, want %d", m.says, n, m.begins)
		}
	}
	c.audit()
}

// lives reports whether a process is there.
func lives(pid string) bool {
	n, err := strconv.Atoi(pid)
	if err != nil {
		return false
	}
	p, err := os.FindProcess(n)
	if err != nil {
		return false
	}
	err = p.Signal(syscall.Signal(0))
	return err == nil || errors.Is(err, syscall.EPERM)
}
