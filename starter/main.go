// Command starter starts an AgentRun by the Temporal SDK, without the bridge: `go run ./starter -agent demo -input
// "mend the test"`. It finds Temporal by the standard TEMPORAL_* variables and profile file, prints the workflow's
// id and how to answer what it asks, and with -wait stays until the run ends.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"os/user"
	"regexp"
	"syscall"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"

	"holdpoint/interaction"
	"holdpoint/workflows"
)

// sessionID is what the bridge takes, too.
var sessionID = regexp.MustCompile(`^[A-Za-z0-9._-]{1,128}$`)

type options struct {
	agent, input, session, user, queue string
	wait                               bool
}

func main() {
	var o options
	flag.StringVar(&o.agent, "agent", "demo", "name of an agent that the worker's configuration has")
	flag.StringVar(&o.input, "input", "", "what the agent is to do")
	flag.StringVar(&o.session, "session", "", "the conversation to go on with; a new one when left out")
	flag.StringVar(&o.user, "user", "", "for whom; your login name when left out")
	flag.StringVar(&o.queue, "task-queue", workflows.DefaultTaskQueue, "Temporal task queue of the worker")
	flag.BoolVar(&o.wait, "wait", false, "wait until the run ends, and say how")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "starter:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, o options) error {
	in, err := input(o)
	if err != nil {
		return err
	}
	// A key of the file that is misspelt would leave another namespace, or no TLS, in force.
	settings, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{ConfigFileStrict: true})
	if err != nil {
		return fmt.Errorf("the connection settings (TEMPORAL_* variables, profile file) can't be used: %w", err)
	}
	c, err := client.DialContext(ctx, settings)
	if err != nil {
		return fmt.Errorf("no Temporal server answers: %w: set TEMPORAL_ADDRESS", err)
	}
	defer c.Close()
	w, err := c.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                                       workflows.SessionWorkflowID(in.SessionID),
		TaskQueue:                                o.queue,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL, // one live run per session
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}, workflows.AgentRunName, in)
	var busy *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &busy) {
		return fmt.Errorf("session %s has a live run: wait for its end, or leave -session out", in.SessionID)
	}
	if err != nil {
		return fmt.Errorf("the run can't be started: %w", err)
	}
	explain(out, w.GetID(), in.RunID)
	if !o.wait {
		return nil
	}
	return await(ctx, out, w)
}

// input checks what was asked for and makes the ids.
func input(o options) (workflows.RunInput, error) {
	if o.input == "" || len(o.input) > interaction.MaxMessageBytes {
		return workflows.RunInput{}, fmt.Errorf("-input must have 1 to %d bytes", interaction.MaxMessageBytes)
	}
	if o.session == "" {
		o.session = uuid.Must(uuid.NewV7()).String()
	}
	if o.user == "" {
		if u, err := user.Current(); err == nil {
			o.user = u.Username
		}
	}
	in := workflows.RunInput{RunID: interaction.RunID(uuid.Must(uuid.NewV7()).String()), SessionID: interaction.SessionID(o.session), Agent: o.agent,
		UserID: interaction.PrincipalID(o.user), Requester: interaction.PrincipalID(o.user), Input: o.input}
	if !sessionID.MatchString(o.session) {
		return in, fmt.Errorf("-session must be 1 to 128 of A-Z a-z 0-9 . _ -")
	}
	return in, nil
}

// explain says how to look at the run and how to answer it with Temporal's own tools.
func explain(out io.Writer, workflowID string, run interaction.RunID) {
	fmt.Fprintf(out, `Workflow %[1]s
Run      %[2]s

What it waits for:
  temporal workflow query --workflow-id %[1]s --type %[3]s
Answer it, with an id that the query shows:
  temporal workflow signal --workflow-id %[1]s --name %[4]s --input '{"request_id":"ID","action":"approve"}'
Stop it:
  temporal workflow signal --workflow-id %[1]s --name %[5]s --input '{"run_id":"%[2]s","action":"abort_run"}'
`, workflowID, run, workflows.QueryState, workflows.MessageRespond, workflows.MessageControl)
}

func await(ctx context.Context, out io.Writer, w client.WorkflowRun) error {
	var result workflows.RunResult
	if err := w.Get(ctx, &result); err != nil {
		return fmt.Errorf("the run did not end well: %w", err)
	}
	fmt.Fprintf(out, "\nThe run is %s after %d steps. %s\n", result.Status, result.Steps, result.Error)
	return nil
}
