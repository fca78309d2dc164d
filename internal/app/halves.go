package app

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/internal/auth"
	"holdpoint/tool/builtin"
	"holdpoint/workflows"
)

// throttle bounds how late a cancellation reaches a running tool: it comes back with a heartbeat.
const throttle = time.Second

// startWorker registers the workflows and activities and polls for them.
func (a *App) startWorker() error {
	if err := builtin.Shield(); err != nil {
		return fmt.Errorf("the worker's environment can't be hidden from commands: %w", err)
	}
	if err := a.startServers(); err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	if a.o.StickyCache > 0 {
		worker.SetStickyWorkflowCacheSize(a.o.StickyCache)
	}
	deployment, err := a.o.Deployment.options()
	if err != nil {
		return err
	}
	atOnce := workflows.ParallelTools // so that calls which were answered together begin, and mostly end, together
	w := worker.New(a.client, a.o.TaskQueue, worker.Options{
		MaxEagerActivityReservationsPerWorkflowTask: &atOnce,
		DeploymentOptions:                deployment,
		MaxHeartbeatThrottleInterval:     throttle,
		DefaultHeartbeatThrottleInterval: throttle,
		DisableRegistrationAliasing:      true,
		DisableWorkflowWorker:            a.o.ToolsOnly,
		WorkerStopTimeout:                a.o.Drain,
		OnFatalError:                     func(err error) { a.fail(fmt.Errorf("worker: %w", err)) },
	})
	acts := a.newActivities()
	acts.Worker, acts.Faults = fmt.Sprintf("%s:%d", host, os.Getpid()), a.o.Faults
	acts.Tell = func(ctx context.Context, workflowID string) error {
		return a.client.SignalWorkflow(ctx, workflowID, "", workflows.MessageRecheck, struct{}{})
	}
	acts.Inquire = func(ctx context.Context, workflowID string, q activities.Inquiry) error {
		return a.client.SignalWorkflow(ctx, workflowID, "", workflows.MessageAsked, q)
	}
	acts.Await, acts.Observer, acts.OwnWorkspaces = a.awaitWorkflow, a.telemetry.Metrics(), a.o.ToolsOnly
	acts.Store = activities.Observed{Store: acts.Store, Observer: a.telemetry.Metrics()}
	register(w, acts, a.newKeeper(acts), a.o.ToolsOnly)
	if err := w.Start(); err != nil {
		return fmt.Errorf("worker: %w", err)
	}
	a.worker, a.settle = w, acts.Settle
	a.closing(func() error { a.StopWorker(); return nil })
	if !a.o.ToolsOnly {
		a.closing(a.watchOutbox())
		if err := a.scheduleKeeper(); err != nil { // a server without schedules serves all the rest
			a.log.Warn("the store is not compared with Temporal: no schedule could be made", "error", err)
		}
	}
	return nil
}

// register makes the workflows and activities known that a worker serves.
func register(w worker.Worker, acts *activities.Activities, keeper *activities.Keeper, toolsOnly bool) {
	w.RegisterActivityWithOptions(acts.RunTool, activity.RegisterOptions{Name: activities.RunToolName})
	if toolsOnly {
		return
	}
	w.RegisterWorkflowWithOptions(workflows.AgentRun, workflow.RegisterOptions{Name: workflows.AgentRunName})
	w.RegisterWorkflowWithOptions(workflows.Pipeline, workflow.RegisterOptions{Name: workflows.PipelineName})
	w.RegisterWorkflowWithOptions(workflows.Approval, workflow.RegisterOptions{Name: workflows.ApprovalName})
	// These are no runs: there is one of each for all builds. Pinned to one, they would hang with the last of its workers.
	w.RegisterWorkflowWithOptions(workflows.Notify, workflow.RegisterOptions{Name: workflows.NotifyName, VersioningBehavior: workflow.VersioningBehaviorAutoUpgrade})
	w.RegisterWorkflowWithOptions(workflows.Keep, workflow.RegisterOptions{Name: workflows.KeepName, VersioningBehavior: workflow.VersioningBehaviorAutoUpgrade})
	for name, fn := range map[string]any{activities.StartRunName: acts.StartRun, activities.CallModelName: acts.CallModel,
		activities.RunQuickName: acts.RunQuick, activities.ResolveCallName: acts.ResolveCall, activities.FinishRunName: acts.FinishRun, activities.RecordName: acts.Record,
		activities.RecheckName: acts.Recheck, activities.ResolveAgentName: acts.ResolveAgent,
		activities.AwaitAgentName: acts.AwaitAgent, activities.TakeStageName: acts.TakeStage,
		activities.EndBranchName: acts.EndBranch, activities.EndStageName: acts.EndStage,
		activities.TakeApprovalName: acts.TakeApproval, activities.DeliverDueName: acts.DeliverDue, activities.KeepName: keeper.Round} {
		w.RegisterActivityWithOptions(fn, activity.RegisterOptions{Name: name})
	}
}

// awaitWorkflow returns when a workflow has ended. How it ended is in its record.
func (a *App) awaitWorkflow(ctx context.Context, id string) error {
	err := a.client.GetWorkflow(ctx, id, "").Get(ctx, nil)
	var ended *temporal.WorkflowExecutionError
	if errors.As(err, &ended) {
		return nil
	}
	return err
}

// settlePatience is for calls that were stopped since they did not end by themselves: their processes are told, then killed, and
// what became of them is stored.
const settlePatience = 5 * time.Second

// StopWorker stops executing; what waits goes on waiting in Temporal, and what runs has the time of Options.Drain. It may be
// called more than once.
func (a *App) StopWorker() {
	if a.worker != nil {
		a.log.Info("the worker takes no more work, and waits for what it runs", "at_most", a.o.Drain)
		a.worker.Stop()
		a.worker = nil
		if a.o.Drain > 0 {
			ctx, cancel := context.WithTimeout(context.Background(), settlePatience)
			defer cancel()
			a.settle(ctx)
		}
	}
	if err := a.stopServers(); err != nil {
		a.log.Error("an MCP server could not be ended", "error", err)
	}
}

// StartWorker starts executing again.
func (a *App) StartWorker() error { return a.startWorker() }

// startBridge listens and serves. dev may make a token of its own; elsewhere no token means loopback only.
func (a *App) startBridge(ctx context.Context, dev bool) error {
	authn, configured, err := a.authenticator(ctx, dev)
	if err != nil {
		return err
	}
	front, err := a.front(configured)
	if err != nil {
		return err
	}
	settings := api.Config{Temporal: a.client, Store: bridgeStore{a.store}, Agents: a.defs, Auth: authn, Permissions: a.permissions(), Secrets: a.bridgeSecrets(), Tokens: tokens{a.store}, Approvals: programs{a.defs},
		ValidateArgs: a.validateArgs, TaskQueue: a.o.TaskQueue, UpdateTimeout: a.o.UpdateTimeout, Loopback: auth.Loopback(a.o.Listen) && !front.BehindProxy,
		BehindProxy: front.BehindProxy, CORSOrigins: front.CORSOrigins, RequestsPerMinute: front.RequestsPerMinute, FailuresPerMinute: front.FailuresPerMinute,
		Hider: a.redact, Guest: a.guest(dev, front), Version: a.o.Version, Log: a.log, Checks: a.storeChecks(), Metrics: a.telemetry.Handler()}
	settings.Unmet = a.defs.unmet
	if !dev { // there, the inbox is open beside it
		settings.Unreached = a.defs.unreached
	}
	if err := a.signs(&settings, front, dev); err != nil {
		return err
	}
	handler, err := api.New(settings)
	if err != nil {
		return err
	}
	a.mountSlack(handler)
	protocols, err := a.mountAdapters(handler, front)
	if err != nil {
		return err
	}
	if a.pages, err = a.newPages(handler, authn); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", a.o.Listen)
	if err != nil {
		return fmt.Errorf("the bridge can't listen on %s: %w: choose another address with --listen", a.o.Listen, err)
	}
	if err := a.countWaiting(); err != nil {
		return errors.Join(err, listener.Close())
	}
	b := &bridge{addr: listener.Addr().String(), net: listener, tls: front.TLSCert != "",
		http: &http.Server{Handler: a.telemetry.HTTP(a.pages), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10, TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12}, ErrorLog: a.serverLog()}}
	a.bridge = b
	go func() {
		if err := b.serve(front); !errors.Is(err, http.ErrServerClosed) {
			a.fail(fmt.Errorf("bridge: %w", err))
		}
	}()
	a.closing(func() error {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		err := errors.Join(protocols.Close(), handler.Close()) // ends the streams, which Shutdown would wait for
		return errors.Join(err, b.http.Shutdown(ctx))
	})
	return nil
}

// serverLog is where net/http tells of connections that come to nothing, as strangers may make any number of.
func (a *App) serverLog() *log.Logger { return slog.NewLogLogger(a.log.Handler(), slog.LevelInfo) }

// validateArgs checks a reviewer's arguments for the bridge.
func (a *App) validateArgs(_ context.Context, name string, _ interaction.RunID, args []byte) error {
	t, ok := a.defs.Tool(name)
	if !ok && a.defs.elsewhere(name) {
		return nil // the worker checks them, and asks again if it must
	}
	if !ok {
		return &interaction.Error{Code: interaction.CodeInvalid, Field: "args", Message: fmt.Sprintf("there is no tool %q any more", name)}
	}
	if bad := a.schemas.validate(t.Definition(), args); bad != nil {
		return bad
	}
	return nil
}

func (a *App) fail(err error) {
	select {
	case a.failed <- err:
	default:
	}
}
