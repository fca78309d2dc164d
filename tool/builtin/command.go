package builtin

import (
	"context"
	"io"
	"time"

	"holdpoint/tool"
)

// command is a process to run with everything that it starts.
type command struct {
	argv []string // argv[0] is an absolute path
	dir  string
	env  []string
	// begun, if set, is told how the command can be stopped; it returns what is called before that is over.
	begun func(tool.Stopper) (forget func())
}

// ending is how a command ended.
type ending struct {
	Exit    int      `json:"exit"`
	Signal  string   `json:"signal,omitempty"` // the name of the signal that ended it
	Killed  []string `json:"killed,omitempty"` // what it left running, and was ended
	Left    int      `json:"left,omitempty"`   // what could not be ended
	Failed  string   `json:"failed,omitempty"` // why it could not be started
	Stopped bool     `json:"-"`                // ctx ended before it did
	Lost    bool     `json:"-"`                // its supervisor was killed
}

// How long each step of an ending may take. Together they stay under three seconds.
const (
	termGrace     = time.Second             // from SIGTERM to SIGKILL when the command is stopped
	settleGrace   = 250 * time.Millisecond  // for what ends by itself after the command: >(tee log)
	strayGrace    = 250 * time.Millisecond  // from SIGTERM to SIGKILL for what the command left
	killPatience  = 400 * time.Millisecond  // for SIGKILL to work, before that is told
	stopPatience  = 1700 * time.Millisecond // for the supervisor to stop a command
	lastPatience  = 300 * time.Millisecond  // for the supervisor once its life line is cut
	drainPatience = 200 * time.Millisecond  // for output that is still in the pipe
	exitPatience  = 200 * time.Millisecond  // for the supervisor's own end
)

// How long it may take until all processes of a command stand, for the supervisor and for the worker that waits for it.
const (
	standPatience  = time.Second
	answerPatience = 3 * time.Second
)

// run starts the command, copies what it prints (both streams, in order) to out, and waits for the end of it
// and of every process that it started. When ctx ends it is stopped: SIGTERM to its group, after a grace
// SIGKILL to all of its processes; run returns within three seconds even if that fails. An error means that
// nothing was started.
func (c command) run(ctx context.Context, out io.Writer) (ending, error) {
	return c.supervised(ctx, out)
}
