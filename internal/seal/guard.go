package seal

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/failure/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
)

// Guard keeps the workers of a client from workflow tasks whose history they can't open: the SDK ends a workflow whose input
// does not open as failed, and drops an answer that does not. Such a task fails instead: Temporal keeps it, and gives it out again
// until a worker that has the key takes it. A nil ring opens nothing that is sealed.
func (r *Ring) Guard(o client.Options, log *slog.Logger) client.Options {
	g := guard{r, log}
	o.ConnectionOptions.DialOptions = append(slices.Clone(o.ConnectionOptions.DialOptions), grpc.WithChainUnaryInterceptor(g.look))
	return o
}

type guard struct {
	ring *Ring
	log  *slog.Logger
}

// taker is who asked for a task.
type taker interface {
	GetNamespace() string
	GetIdentity() string
}

func (g guard) look(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	if err := invoke(ctx, method, req, reply, cc, opts...); err != nil {
		return err
	}
	switch got := reply.(type) {
	case *workflowservice.PollWorkflowTaskQueueResponse:
		if refused, err := g.refuse(ctx, req, got, cc); refused {
			got.Reset() // as if there had been nothing to do
			return err
		}
	case *workflowservice.RespondWorkflowTaskCompletedResponse: // which may bring the next task
		if refused, err := g.refuse(ctx, req, got.GetWorkflowTask(), cc); refused {
			got.WorkflowTask = nil
			return err
		}
	case *workflowservice.GetWorkflowExecutionHistoryResponse: // a long history comes in pages
		if in, ok := req.(*workflowservice.GetWorkflowExecutionHistoryRequest); ok && len(in.GetNextPageToken()) > 0 && !in.GetWaitNewEvent() {
			return g.opens(got.GetHistory())
		}
	}
	return nil
}

// refusedAtOnce is how often a task is handed back at once, so that another worker takes it. Then it is left to time out, some
// seconds later: nothing else keeps Temporal from giving it out again and again.
const refusedAtOnce = 5

// refusePatience bounds the call that refuses a task: the poll that brought it may have no time left.
const refusePatience = 10 * time.Second

// refuse has a task fail that can't be opened here. A query alone changes nothing, and an update is refused by itself.
func (g guard) refuse(ctx context.Context, req any, task *workflowservice.PollWorkflowTaskQueueResponse, cc *grpc.ClientConn) (refused bool, err error) {
	by, ok := req.(taker)
	if !ok || len(task.GetTaskToken()) == 0 || task.GetQuery() != nil {
		return false, nil
	}
	why := g.opens(task.GetHistory())
	if why == nil {
		return false, nil
	}
	if task.GetAttempt() > refusedAtOnce {
		return true, nil
	}
	g.log.ErrorContext(ctx, "a run can't be carried on by this worker, and waits for one that can", "workflow_id", task.GetWorkflowExecution().GetWorkflowId(), "error", why)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refusePatience)
	defer cancel()
	_, err = workflowservice.NewWorkflowServiceClient(cc).RespondWorkflowTaskFailed(ctx, &workflowservice.RespondWorkflowTaskFailedRequest{
		TaskToken: task.GetTaskToken(), Namespace: by.GetNamespace(), Identity: by.GetIdentity(),
		Cause:   enums.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE,
		Failure: &failure.Failure{Message: why.Error(), Source: "holdpoint"}})
	return true, err
}

// opens reports what of a history does not open. A signal that no key of the name opens is nobody's answer: the run that it was sent
// to passes over it.
func (g guard) opens(h *history.History) error {
	for _, e := range h.GetEvents() {
		err := g.ring.Opens(e)
		if nobodys := e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED && !errors.Is(err, ErrUnknownKey); err != nil && !nobodys {
			return err
		}
	}
	return nil
}
