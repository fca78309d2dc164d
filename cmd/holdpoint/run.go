package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"holdpoint/api"
	"holdpoint/event"
	"holdpoint/interaction"
)

const runLong = `Starts a run and follows it to its end. At a terminal, each question is put to you as it comes; elsewhere
the lines that answer it are printed and the stream goes on. TEXT is read from stdin when it is left out or "-".

Exit codes: 0 completed, 1 error, 2 usage, 3 the run failed, 4 the run was aborted by a person, 130 interrupted
(the run goes on).`

func runCommand(c *cli) *cobra.Command {
	var r remote
	var asJSON bool
	var body api.StartRun
	cmd := &cobra.Command{
		Use: "run AGENT [TEXT]", Short: "Start a run and follow it", Long: runLong, Args: cobra.RangeArgs(1, 2),
		ValidArgsFunction: c.completing(&r, onlyFirst(agentNames)),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			body.Agent = args[0]
			if body.Input, err = c.input(args[1:], "run AGENT TEXT"); err != nil {
				return err
			}
			cl, err := c.connect(&r)
			if err != nil {
				return err
			}
			return c.run(cmd.Context(), cl, &r, body, asJSON)
		},
	}
	r.flags(c, cmd)
	cmd.Flags().StringVar(&body.SessionID, "session", "", "go on with this conversation")
	cmd.Flags().StringVar(&body.UserID, "user", "", "for whom; another than yourself needs an admin's token")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each event as a line of JSON, and ask nothing")
	complete(cmd, "session", c.completing(&r, sessionIDs))
	return cmd
}

// input is the text to send: an argument, or stdin. form is the command that lacks it.
func (c *cli) input(args []string, form string) (string, error) {
	if len(args) == 1 && args[0] != "-" {
		return args[0], nil
	}
	if c.asks && len(args) == 0 {
		return "", usage("say what to do: %s %s", c.name, form)
	}
	data, err := io.ReadAll(io.LimitReader(c.in, interaction.MaxMessageBytes+1))
	if err != nil {
		return "", fmt.Errorf("stdin can't be read: %w", err)
	}
	if len(data) > interaction.MaxMessageBytes {
		return "", fmt.Errorf("the text has more than %d bytes: put it into a file that the agent reads", interaction.MaxMessageBytes)
	}
	text := strings.TrimSuffix(string(data), "\n")
	if strings.TrimSpace(text) == "" {
		return "", usage("the text is empty: say what to do")
	}
	return text, nil
}

func (c *cli) run(ctx context.Context, cl *client, r *remote, body api.StartRun, asJSON bool) error {
	started, err := cl.start(ctx, body, uuid.New().String())
	if err != nil {
		return err
	}
	for _, w := range started.Warnings {
		fmt.Fprintf(c.err, "%s %s\n", c.style.yellow("Warning:"), interaction.Visible(w))
	}
	err = c.watch(ctx, cl, r, started.RunID, watching{json: asJSON, ask: c.asks && !asJSON})
	if ctx.Err() != nil {
		fmt.Fprintf(c.err, "\nRun %s goes on without you. What waits for a person: %s inbox%s\n", interaction.Visible(string(started.RunID)), c.name, r.typed())
		return &exit{code: exitInterrupted}
	}
	return err
}

// watching says how a run is watched.
type watching struct {
	json   bool
	ask    bool  // put questions to the person at the terminal
	after  int64 // the last event that is known already
	once   bool  // end after what is stored
	closed map[interaction.ID]bool
}

// watch follows a run to its end.
func (c *cli) watch(ctx context.Context, cl *client, r *remote, run interaction.RunID, o watching) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w := &watcher{c: c, cl: cl, r: r, view: &render{c: c}, json: o.json, closed: o.closed, run: run}
	events, ended := make(chan event.Event), make(chan error, 1)
	go func() {
		ended <- cl.follow(ctx, stream{run: run, after: o.after, once: o.once}, func(e event.Event) error {
			select {
			case events <- e:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}, w.connection)
	}()
	var typed <-chan typedLine
	if o.ask {
		keys := newKeyboard(ctx, c.in)
		w.talk = &talk{c: c, cl: cl, r: r, keys: keys}
		typed = keys.lines
	}
	for {
		select {
		case e := <-events:
			if err := w.event(ctx, e); err != nil {
				return err
			}
		case line, ok := <-typed:
			if !ok {
				typed = nil // the terminal is gone; the stream goes on
			}
			w.talk.line(ctx, line, ok)
		case err := <-ended:
			if err == nil {
				err = w.outcome
			}
			return err
		}
	}
}

// watcher shows one run's events.
type watcher struct {
	c       *cli
	cl      *client
	r       *remote
	view    *render
	json    bool
	run     interaction.RunID
	talk    *talk                   // nil where nobody is asked
	closed  map[interaction.ID]bool // questions of which it is known that they need no answer any more
	outcome error                   // how the run ended
}

// connection tells of a stream that broke, once, and of its return.
func (w *watcher) connection(trouble string) {
	if trouble == "" {
		fmt.Fprintln(w.c.err, "holdpoint: the bridge is back")
		return
	}
	fmt.Fprintf(w.c.err, "holdpoint: trying again until the bridge is back: %s\n", interaction.Visible(trouble))
}

func (w *watcher) event(ctx context.Context, e event.Event) error {
	if e.Type.Last() && e.RunID == w.run {
		defer func() { w.outcome = outcome(e) }()
	}
	if w.json {
		return w.c.printLine(e)
	}
	w.view.event(e)
	switch e.Type {
	case event.InteractionRequest:
		return w.request(ctx, e)
	case event.InteractionResponse:
		if d, err := event.Decode(e); err == nil && w.talk != nil {
			w.talk.closed(ctx, d.(event.InteractionResponseData).InteractionID)
		}
	case event.RunCompleted, event.RunFailed, event.RunAbortedByHuman:
		if e.RunID != w.run { // of an agent that this one called
			w.view.line("~", "run %s has ended: %s", e.RunID, strings.TrimPrefix(string(e.Type), "run_"))
			return nil
		}
		w.ended(e)
	}
	return nil
}

// request shows a question, or puts it to the person at the terminal.
func (w *watcher) request(ctx context.Context, e event.Event) error {
	d, err := event.Decode(e)
	q, ok := d.(interaction.Request)
	if err != nil || !ok {
		return nil // said already
	}
	w.view.end()
	if w.talk != nil {
		w.talk.ask(ctx, q.ID)
		return nil
	}
	if w.closed[q.ID] {
		w.view.line("?", "%s asked: %s", shortID(q.ID), q.Title)
		return nil
	}
	it := api.Interaction{Request: q, Status: interaction.StatusPending}
	if e.Redacted { // who answers must see the whole
		if it, err = w.cl.interaction(ctx, q.ID); err != nil {
			w.view.line("?", "%s asks: %s (parts are hidden, and the whole can't be read: %v)", shortID(q.ID), q.Title, err)
			return nil
		}
		if it.Status.Final() {
			w.view.line("?", "%s asked: %s", shortID(q.ID), it.Title)
			return nil
		}
	}
	fmt.Fprintln(w.c.out, w.c.style.yellow("? waits for a person"))
	w.c.show(w.c.out, it)
	w.c.respondLines(w.c.out, w.r, it, shortID(q.ID))
	return nil
}

func (w *watcher) ended(e event.Event) {
	d, err := event.Decode(e)
	if err != nil {
		return
	}
	switch d := d.(type) {
	case event.RunCompletedData:
		w.view.line(w.c.style.green("completed"), "")
	case event.RunFailedData:
		w.view.line(w.c.style.red("failed"), "%s (%s)", d.Message, d.Code)
	case event.RunAbortedData:
		by := string(d.By)
		if by == "" {
			by = "a person"
		}
		w.view.line(w.c.style.red("aborted"), "by %s %s", by, d.Note)
	}
}

// outcome is the exit code that a run's last event stands for.
func outcome(e event.Event) error {
	switch e.Type {
	case event.RunFailed:
		return &exit{code: exitFailed}
	case event.RunAbortedByHuman:
		return &exit{code: exitAborted}
	default:
		return nil
	}
}
