package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"holdpoint/agent"
	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/workflows"
)

const controlLong = `Pauses, resumes or aborts a run. A paused run starts no model call and no tool; commands that run are stopped where
they stand, other tools run to their end. Gates stay open, and what is answered meanwhile is carried out once the run is
resumed. An abort stops the run and the tools that run in it.

RUN is a run's id, a session's id (which means its newest run), or the beginning of either that fits one only.
ACTION is pause, resume or abort; pause_run, resume_run and abort_run are the same. Repeating a command with the
same --id is harmless.

With --interaction, pause holds that question alone, so that its clocks stand, and resume lets it go on.
lift_rejection forgets that it was rejected, so that the same call may be asked again. With --call, pause and resume are
about that call alone, which runs.`

// controls are the actions, by the words for them; one is of a question, where it is named.
var controls = []struct {
	word   string
	one    bool
	action workflows.ControlAction
	done   string
}{
	{"pause", false, workflows.PauseRun, "paused: it starts nothing until it is resumed"},
	{"resume", false, workflows.ResumeRun, "goes on"},
	{"abort", false, workflows.AbortRun, "is being stopped"},
	{"pause", true, workflows.PauseCall, "holds the question: its clocks stand"},
	{"resume", true, workflows.ResumeCall, "lets the question go on"},
	{"lift_rejection", true, workflows.LiftRejection, "may ask for that call again"},
}

func controlCommand(c *cli) *cobra.Command {
	var r remote
	var body api.Control
	var asJSON bool
	var id, about, call string
	cmd := &cobra.Command{
		Use: "control RUN ACTION", Short: "Pause, resume or abort a run", Long: controlLong, Args: cobra.ExactArgs(2),
		ValidArgsFunction: c.completing(&r, firstThen(liveRunIDs, words("pause", "resume", "abort"))),
		RunE: func(cmd *cobra.Command, args []string) error {
			done, err := control(args[1], about != "" || call != "", &body)
			if err == nil && call != "" {
				done, err = ofCall(call, about, &body)
			}
			if err != nil {
				return err
			}
			body.ID = interaction.ResponseID(orNew(id))
			about := func(ctx context.Context, cl *client) error { return cl.about(ctx, about, &body) }
			return c.tell(cmd.Context(), &r, args[0], telling{"control", &body, asJSON, done, about})
		},
	}
	r.flags(c, cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&body.Note, "note", "", "why, for the record")
	cmd.Flags().StringVar(&id, "id", "", "id of this message: the same id is applied once")
	cmd.Flags().StringVar(&about, "interaction", "", "the question that is meant, instead of the run")
	cmd.Flags().StringVar(&call, "call", "", "id of a call that runs, which is meant instead of the run")
	complete(cmd, "interaction", c.completing(&r, waitingIDs))
	return cmd
}

// ofCall makes a control message one about a call that runs.
func ofCall(call, about string, body *api.Control) (done string, err error) {
	body.ToolCallID = interaction.CallID(call)
	switch {
	case about != "":
		return "", usage("give --call or --interaction, not both")
	case body.Action == workflows.PauseCall:
		return "holds the call: a command is stopped, another tool runs to its end", nil
	case body.Action == workflows.ResumeCall:
		return "lets the call go on", nil
	default:
		return "", usage("only pause and resume can be about a call that runs")
	}
}

// about finds the question that a control message is about, if it is about one.
func (cl *client) about(ctx context.Context, ref string, body *api.Control) error {
	if ref == "" {
		return nil
	}
	it, err := cl.find(ctx, ref, body.Action != workflows.LiftRejection)
	body.InteractionID = it.ID
	return err
}

// control puts the action that a word means on a body.
func control(word string, one bool, body *api.Control) (done string, err error) {
	var all []string
	for _, k := range controls {
		if one != k.one {
			continue
		}
		if word == k.word || word == string(k.action) {
			body.Action = k.action
			return k.done, nil
		}
		all = append(all, k.word)
	}
	if one {
		return "", usage("%q is nothing that can be done to a question: use one of %s", word, strings.Join(all, ", "))
	}
	if word == string(workflows.LiftRejection) {
		return "", usage("say whose rejection by --interaction ID")
	}
	return "", usage("%q is nothing that can be done to a run: use one of %s", word, strings.Join(all, ", "))
}

func orNew(id string) string {
	if id == "" {
		return uuid.New().String()
	}
	return id
}

const messageLong = `Says something to a live run: it is taken in at the next step, as a message of the user. TEXT is read from stdin
when it is left out or "-". Repeating a command with the same --id is harmless.

RUN is a run's id, a session's id (which means its newest run), or the beginning of either that fits one only.`

func messageCommand(c *cli) *cobra.Command {
	var r remote
	var asJSON bool
	var id string
	cmd := &cobra.Command{
		Use: "message RUN [TEXT]", Short: "Say something to a live run", Long: messageLong, Args: cobra.RangeArgs(1, 2),
		ValidArgsFunction: c.completing(&r, onlyFirst(liveRunIDs)),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := c.input(args[1:], "message RUN TEXT")
			if err != nil {
				return err
			}
			body := api.SendMessage{ID: interaction.ResponseID(orNew(id)), Text: text}
			return c.tell(cmd.Context(), &r, args[0], telling{"messages", body, asJSON, "takes it in at its next step", nil})
		},
	}
	r.flags(c, cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&id, "id", "", "id of this message: the same id is applied once")
	return cmd
}

// telling is a message to a run.
type telling struct {
	what    string // the last part of its path
	body    any
	json    bool
	done    string                                      // what it did, in words
	prepare func(ctx context.Context, cl *client) error // completes the body; may be nil
}

// tell sends a message to a run and says what became of it.
func (c *cli) tell(ctx context.Context, r *remote, ref string, t telling) error {
	cl, err := c.connect(r)
	if err != nil {
		return err
	}
	run, err := cl.findRun(ctx, ref)
	if err != nil {
		return err
	}
	if t.prepare != nil {
		if err := t.prepare(ctx, cl); err != nil {
			return err
		}
	}
	var out api.Delivered
	_, err = cl.do(ctx, call{method: http.MethodPost, path: runPath(run.ID) + "/" + t.what, body: t.body}, &out)
	switch {
	case code(err) == api.CodeRunEnded:
		return fmt.Errorf("run %s: %w; go on in its session with `%s run%s --session %s %s TEXT`", run.ID, err, c.name, r.typed(),
			shellWord(string(run.SessionID)), shellWord(run.Agent))
	case err != nil:
		return err
	case t.json:
		return c.printJSON(out)
	}
	done := t.done
	switch {
	case out.Status == api.StatusStored:
		done = "has it kept for it: no worker has taken it yet; it is applied as soon as one runs"
	case out.Duplicate:
		done = "was told this before, by the same id: nothing was changed"
	}
	c.line(c.out, "Run", string(run.ID)+" "+done+".")
	return nil
}

// live reports whether a run can still be told something.
func live(list []agent.Run) []agent.Run {
	return slices.DeleteFunc(slices.Clone(list), func(r agent.Run) bool { return r.Status.Final() })
}
