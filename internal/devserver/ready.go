package devserver

import (
	"context"
	"fmt"
	"regexp"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
)

// pollEvery is how often a starting server is asked.
const pollEvery = 50 * time.Millisecond

// ready returns when the frontend answers for the namespace, and an error when the process ends or time is up.
func (s *Server) ready(ctx context.Context, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	conn, err := grpc.NewClient(s.address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithNoProxy(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: pollEvery, Multiplier: 1, MaxDelay: pollEvery},
			MinConnectTimeout: time.Second,
		}))
	if err != nil {
		return fmt.Errorf("no client for %s: %w", s.address, err)
	}
	defer conn.Close() //nolint:errcheck // nothing was written through it
	frontend := workflowservice.NewWorkflowServiceClient(conn)
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		last := answers(ctx, frontend, namespace)
		select {
		case <-s.exited: // looked at first: a stranger on the port may answer
			return fmt.Errorf("it ended: %w", exitReason(s.exitErr))
		default:
		}
		if last == nil {
			return nil
		}
		select {
		case <-s.exited:
			return fmt.Errorf("it ended: %w", exitReason(s.exitErr))
		case <-ctx.Done():
			return fmt.Errorf("it did not answer on %s: %w (last: %w)", s.address, context.Cause(ctx), last)
		case <-tick.C:
		}
	}
}

// answers asks once.
func answers(ctx context.Context, frontend workflowservice.WorkflowServiceClient, namespace string) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	if _, err := frontend.GetSystemInfo(ctx, &workflowservice.GetSystemInfoRequest{}); err != nil {
		return err
	}
	_, err := frontend.DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	return err
}

// errCleanExit stands for the exit code 0.
var errCleanExit = fmt.Errorf("exit status 0")

func exitReason(err error) error {
	if err == nil {
		return errCleanExit
	}
	return err
}

// portTakenError says that another process took a port first.
type portTakenError struct{ err error }

func (e *portTakenError) Error() string { return e.err.Error() }
func (e *portTakenError) Unwrap() error { return e.err }

var portTaken = regexp.MustCompile(`(?i)address already in use|can't (?:set|use) .*port`)

// startError puts what the server wrote below why it was given up.
func startError(binary string, err error, all, tail string) error {
	if tail == "" {
		tail = "(it wrote nothing)"
	}
	err = fmt.Errorf("the Temporal dev server %s did not start: %w\nThe end of its log:\n%s", binary, err, tail)
	if portTaken.MatchString(all) {
		return &portTakenError{err: err}
	}
	return err
}
