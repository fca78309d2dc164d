package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// maxCommand bounds a script; Linux takes no single argument above 128 KiB.
const maxCommand = 100_000

// notesRoom is what a result keeps free for the lines that say how a command ended.
const notesRoom = 1 << 10

// bash runs a script with bash in the workspace.
type bash struct{ cfg Config }

type bashArgs struct {
	Command string `json:"command"`
}

func newBash(cfg Config) tool.Tool { return bash{cfg} }

const bashSchema = `{
	"type": "object",
	"properties": {
		"command": {"type": "string", "minLength": 1, "maxLength": 100000, "description": "The bash script to run."}
	},
	"required": ["command"],
	"additionalProperties": false
}`

func (b bash) Definition() tool.Definition {
	return tool.Definition{
		Name: NameBash,
		Description: fmt.Sprintf("Runs a bash script in the workspace and returns its output and exit status. "+
			"It has no terminal and no input, ends after %s, and every process it leaves in the background "+
			"is ended with it. Of long output the beginning and the end are kept.", b.cfg.Timeout),
		Schema:   json.RawMessage(bashSchema),
		Resource: tool.ResourceCommand,
		Field:    "command",
		Closed:   true,
		Consent:  tool.ConsentAlways,
		Risk:     "high",
		// The command's own clock ends first, so that its output is not lost.
		Timeout: b.cfg.Timeout + 10*time.Second,
	}
}

func (b bash) args(call tool.Call) (bashArgs, error) {
	args, err := decode[bashArgs](call)
	switch {
	case err != nil:
		return args, err
	case strings.TrimSpace(args.Command) == "":
		return args, refuse("command is empty: give the script to run.")
	case len(args.Command) > maxCommand:
		return args, refuse("command has %d bytes, and at most %d can be run: write the script to a file first.",
			len(args.Command), maxCommand)
	case strings.IndexByte(args.Command, 0) >= 0 || !utf8.ValidString(args.Command):
		return args, refuse("command holds a NUL character or is not UTF-8: remove it.")
	}
	return args, nil
}

// Preview is the script with every character that can't be seen escaped.
func (b bash) Preview(_ context.Context, call tool.Call) (string, error) {
	args, err := b.args(call)
	if err != nil {
		return "", err
	}
	return interaction.VisibleLines(args.Command), nil
}

func (b bash) Run(ctx context.Context, call tool.Call) (tool.Outcome, error) {
	args, err := b.args(call)
	if err != nil {
		return tell(err)
	}
	if !filepath.IsAbs(call.Workspace) {
		return tool.Outcome{}, fmt.Errorf("bash needs an absolute workspace, and got %q", call.Workspace)
	}
	given, first := b.askOrGive(args.Command, call)
	if first != nil {
		return *first, nil
	}
	if err := ctx.Err(); err != nil {
		return tool.Outcome{}, fmt.Errorf("the command was not started: %w", err)
	}
	shell, err := b.shell()
	if err != nil {
		return tool.Outcome{}, err
	}
	limited, limit := tool.WithLimit(ctx, b.cfg.Timeout)
	defer limit.End()
	out := newHeadTail(b.cfg.MaxOutput - notesRoom)
	end, err := command{
		// "--" because a script may begin with a dash.
		argv:  []string{shell, "--noprofile", "--norc", "-c", "--", args.Command},
		dir:   call.Workspace,
		env:   append(workerEnviron(b.cfg.Env), given...),
		begun: stoppable(call, limit),
	}.run(limited, out)
	if err != nil {
		return tool.Outcome{}, fmt.Errorf("running bash: %w", err)
	}
	return b.report(out.String(), end, ctx.Err(), limited.Err()), nil
}

// stoppable tells the caller how the command can be stopped, if it wants to know.
func stoppable(call tool.Call, limit *tool.Limit) func(tool.Stopper) func() {
	if call.Stoppable == nil {
		return nil
	}
	return func(s tool.Stopper) func() { return call.Stoppable(timed{s, limit}) }
}

// timed is a command whose clock stands while it does.
type timed struct {
	tool.Stopper
	limit *tool.Limit
}

// Stop implements tool.Stopper.
func (t timed) Stop() bool {
	stands := t.Stopper.Stop()
	if stands {
		t.limit.Stand()
	}
	return stands
}

// Continue implements tool.Stopper.
func (t timed) Continue() {
	t.limit.Go()
	t.Stopper.Continue()
}

func (b bash) shell() (string, error) {
	if b.cfg.Shell != "" {
		return b.cfg.Shell, nil
	}
	path, err := exec.LookPath("bash")
	if err != nil {
		return "", fmt.Errorf("bash is not on this worker's PATH: install it, or configure the tool's shell: %w", err)
	}
	return filepath.Abs(path)
}

// report words what happened. outer and own say whether the caller's time, or the command's own, was over.
func (b bash) report(output string, end ending, outer, own error) tool.Outcome {
	var notes []string
	note := func(format string, args ...any) { notes = append(notes, "["+fmt.Sprintf(format, args...)+"]") }
	switch {
	case end.Lost:
		note("ended: the process that watches over the command was killed, so all of it was stopped; " +
			"it may have done a part of its work")
	case end.Stopped && outer == nil && errors.Is(own, context.DeadlineExceeded):
		note("ended: it took longer than %s and was stopped; it may have done a part of its work", b.cfg.Timeout)
	case end.Stopped:
		note("ended: it was stopped from outside; it may have done a part of its work")
	case end.Signal != "":
		note("killed by signal %s", end.Signal)
	case end.Exit != 0:
		note("exit status %d", end.Exit)
	}
	if n := len(end.Killed); n > 0 {
		note("%s still running in the background and was ended with the command: %s",
			plural(n, "process"), nameList(end.Killed))
	}
	if end.Left > 0 {
		note("%s of the command could not be ended and may still run", plural(end.Left, "process"))
	}
	failed := end.Lost || end.Stopped || end.Signal != "" || end.Exit != 0
	if output == "" && !failed {
		notes = append([]string{"[no output]"}, notes...)
	}
	if output != "" && len(notes) > 0 && !strings.HasSuffix(output, "\n") {
		output += "\n"
	}
	content := output + strings.Join(notes, "\n")
	if failed {
		return tool.Failure(content)
	}
	return tool.Text(content)
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ses", n, noun)
}

// nameList is at most ten of the names, made printable.
func nameList(names []string) string {
	const most = 10
	var out []string
	for _, n := range names[:min(len(names), most)] {
		out = append(out, clip(interaction.Visible(n), 40))
	}
	if len(names) > most {
		out = append(out, "…")
	}
	return strings.Join(out, ", ")
}
