package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/demo"
)

// serving are the flags of the commands that serve.
type serving struct {
	o    app.Options
	demo bool
}

func (s *serving) flags(c *cli, cmd *cobra.Command, bridge bool) {
	s.o.Out, s.o.Err, s.o.Getenv, s.o.Version = c.out, c.err, c.getenv, buildVersion()
	f := cmd.Flags()
	f.StringVar(&s.o.Config, "config", "", "file or directory of YAML components")
	f.StringVar(&s.o.Data, "data", defaultData, "directory for everything that is kept")
	f.StringVar(&s.o.Metrics, "metrics", "", "address to serve Prometheus metrics on, without authentication (default: none)")
	f.StringVar(&s.o.LogTo, "log", "", "file that the log is appended to, - for stderr (default: private/holdpoint.log in the data directory)")
	f.StringVar(&s.o.TaskQueue, "task-queue", "", "Temporal task queue (default \"holdpoint\")")
	if bridge {
		f.StringVar(&s.o.Listen, "listen", "127.0.0.1:7400", "address of the bridge; port 0 takes a free one")
		f.StringVar(&s.o.TLSCert, "tls-cert", "", "PEM file with the certificate chain: speak TLS")
		f.StringVar(&s.o.TLSKey, "tls-key", "", "PEM file with the certificate's key")
		f.BoolVar(&s.o.BehindProxy, "behind-proxy", false, "a proxy before it ends TLS, and its X-Forwarded-For counts")
		f.StringVar(&s.o.Token, "token", "", "bearer token of the bridge (HOLDPOINT_TOKEN keeps it out of process lists)")
	}
}

// working are the flags of the commands that have a worker.
func (s *serving) working(cmd *cobra.Command) {
	countVar(cmd, &s.o.StickyCache, "cache", "size of Temporal's sticky workflow cache: how many workflows stay in memory; one that does\n"+
		"not is replayed from its history when something happens (default that of Temporal's SDK, 10000)")
	spanVar(cmd, &s.o.KeepEvery, "keep-every", 10*time.Minute, "how often the store is compared with Temporal, 0 for never (see holdpoint doctor)")
}

// token falls back to the environment, where other users of the machine don't see it.
func (s *serving) token(c *cli) {
	if s.o.Token == "" {
		s.o.Token, _ = c.getenv("HOLDPOINT_TOKEN")
	}
}

func devCommand(c *cli) *cobra.Command {
	var s serving
	cmd := &cobra.Command{
		Use: "dev", Short: "Run everything on this machine, with a demo",
		Long: "Runs a Temporal dev server, a worker and the HTTP bridge, all kept in the data directory. Without --config\n" +
			"it brings a demo agent and starts a run of it, which waits for your approval.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.token(c)
			s.demo = s.o.Config == "" && !s.o.NoDemo
			return c.serve(cmd.Context(), func(ctx context.Context) (*app.App, error) {
				return app.Dev(ctx, s.o)
			}, func(ctx context.Context, a *app.App) error { return c.devReady(ctx, a, &s) })
		},
	}
	s.flags(c, cmd, true)
	s.working(cmd)
	cmd.Flags().BoolVar(&s.o.NoDemo, "no-demo", false, "without the demo agent and its run")
	return cmd
}

func workerCommand(c *cli) *cobra.Command {
	var s serving
	cmd := &cobra.Command{
		Use: "worker", Short: "Run a worker beside a Temporal cluster",
		Long: "Executes workflows and activities. Temporal is found by the standard TEMPORAL_* variables and profile file.\n" +
			"With --tools-only it runs the tools alone that have its --task-queue as task_queue, in its own configuration's\n" +
			"workspaces; it needs the store of the other workers.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.serve(cmd.Context(), func(ctx context.Context) (*app.App, error) {
				return app.Worker(ctx, s.o)
			}, func(context.Context, *app.App) error {
				_, err := fmt.Fprintln(c.out, "The worker runs.")
				return err
			})
		},
	}
	s.flags(c, cmd, false)
	s.working(cmd)
	f := cmd.Flags()
	spanVar(cmd, &s.o.Drain, "drain", 20*time.Second, "how long a worker that is told to end lets the calls go on that it runs; then they\n"+
		"are stopped. A second signal ends it at once")
	f.BoolVar(&s.o.ToolsOnly, "tools-only", false, "run the tools of --task-queue, and nothing else")
	f.StringVar(&s.o.Deployment.Name, "deployment-name", "", "Worker Deployment that this worker is of")
	f.StringVar(&s.o.Deployment.BuildID, "build-id", "", "build id of this worker in its deployment")
	f.BoolVar(&s.o.Deployment.Pinned, "pinned", false, "keep runs on the build that they began with (default: they go on with the current one)")
	return cmd
}

func apiCommand(c *cli) *cobra.Command {
	var s serving
	cmd := &cobra.Command{
		Use: "api", Short: "Run the HTTP bridge beside a Temporal cluster",
		Long: "Serves the HTTP bridge. Temporal is found by the standard TEMPORAL_* variables and profile file.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s.token(c)
			return c.serve(cmd.Context(), func(ctx context.Context) (*app.App, error) {
				return app.API(ctx, s.o)
			}, func(_ context.Context, a *app.App) error {
				_, err := fmt.Fprintln(c.out, "The bridge listens at", a.URL())
				return err
			})
		},
	}
	s.flags(c, cmd, true)
	return cmd
}

// serve builds an application, says that it is ready, and runs it until it fails or the process is told to stop.
func (c *cli) serve(ctx context.Context, build func(context.Context) (*app.App, error), ready func(context.Context, *app.App) error) (err error) {
	a, err := build(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err := ready(ctx, a); err != nil && ctx.Err() == nil {
		return err
	}
	return a.Run(ctx)
}

// demoWait is how long the demo's run may take to its first question before the prompt lines are printed without it.
const demoWait = 30 * time.Second

// devReady says where everything is, and begins the demo.
func (c *cli) devReady(ctx context.Context, a *app.App, s *serving) error {
	r := &remote{data: s.o.Data}
	fmt.Fprintf(c.out, "Bridge       %s\n", a.URL())
	fmt.Fprintf(c.out, "Temporal     %s\n", a.TemporalAddress())
	if ui := a.TemporalUI(); ui != "" {
		fmt.Fprintf(c.out, "Temporal UI  %s\n", ui)
	}
	if a.TakesUnsigned() {
		fmt.Fprintln(c.out, "Answers      count unsigned, by Temporal's own tools too (docs/signatures.md)")
	}
	fmt.Fprintf(c.out, "Inbox        %s\n             (signs you in, once and within the hour)\n", a.SignInLink())
	if !s.demo {
		fmt.Fprintf(c.out, "Ready. What waits for a person: %s inbox%s\n", c.name, r.typed())
		return nil
	}
	base, err := parseAddr(a.URL())
	if err != nil {
		return err
	}
	return c.beginDemo(ctx, newClient(base, a.Token()), r)
}

// beginDemo starts the demo's run once per data directory and shows what it waits for.
func (c *cli) beginDemo(ctx context.Context, cl *client, r *remote) error {
	started, err := cl.start(ctx, api.StartRun{Agent: demo.Agent, Input: demo.Input}, demo.Key)
	if err != nil {
		return fmt.Errorf("the demo's run can't be started: %w", err)
	}
	if started.Status.Final() {
		fmt.Fprintf(c.out, "Ready. The demo's run has ended (%s).\n", started.Status)
		return nil
	}
	fmt.Fprintf(c.out, "The demo runs: agent %s, run %s.\n", demo.Agent, started.RunID)
	it, ok := c.firstQuestion(ctx, cl, started.RunID)
	if !ok {
		fmt.Fprintf(c.out, "Ready. What waits for a person: %s inbox%s\n", c.name, r.typed())
		return nil
	}
	short := shortID(it.ID)
	fmt.Fprintf(c.out, "Ready. It waits for you: %s\nIn another terminal:\n", c.style.bold(interaction.Visible(it.Title)))
	fmt.Fprintf(c.out, "  %s inbox%s\n", c.name, r.typed())
	fmt.Fprintf(c.out, "  %s inbox%s %s\n", c.name, r.typed(), short)
	fmt.Fprintf(c.out, "  %s respond%s %s approve\n", c.name, r.typed(), short)
	return nil
}

// firstQuestion waits until a run asks something, or ends.
func (c *cli) firstQuestion(ctx context.Context, cl *client, run interaction.RunID) (api.Interaction, bool) {
	ctx, cancel := context.WithTimeout(ctx, demoWait)
	defer cancel()
	for {
		list, _, err := cl.waiting(ctx, run)
		if err == nil && len(list) > 0 {
			return list[0], true
		}
		var view api.RunView
		_, err = cl.do(ctx, call{method: "GET", path: "/v1/runs/" + string(run)}, &view)
		if err == nil && view.Status.Final() || !sleep(ctx, 200*time.Millisecond) {
			return api.Interaction{}, false
		}
	}
}
