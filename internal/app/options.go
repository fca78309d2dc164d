// Package app is the composition root: it turns configuration into a running Holdpoint. Dev builds everything on
// one machine, with a Temporal dev server of its own; Worker and API build the two halves that run beside an
// existing Temporal cluster. Nothing else in the module knows how the parts fit together.
//
// Start at Dev. Tests start it on port 0.
package app

import (
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"holdpoint/activities"
	"holdpoint/llm"
	"holdpoint/tool"
	"holdpoint/workflows"
)

// Options say what to run. Every field may be left out.
type Options struct {
	// Config is a file or a directory of YAML components. In Dev, "" means the demo's.
	Config string
	// Data is the directory for everything that is kept. Defaults to ".holdpoint".
	Data string
	// Listen is the bridge's address. Defaults to "127.0.0.1:7400"; port 0 takes a free one.
	Listen string
	// Token is the bearer token of the bridge's one principal. In Dev, "" makes a random one that is kept in Data.
	Token string
	// TLSCert and TLSKey are PEM files by which the bridge speaks TLS itself.
	TLSCert, TLSKey string
	// BehindProxy says that a proxy before the bridge ends TLS, and that what it says of clients counts.
	BehindProxy bool
	// NoDemo leaves the demo agent out.
	NoDemo bool
	// TaskQueue defaults to workflows.DefaultTaskQueue.
	TaskQueue string
	// Out and Err are for people. They default to the process's own.
	Out, Err io.Writer
	// Getenv looks up a variable. Defaults to os.LookupEnv.
	Getenv func(string) (string, bool)
	// Temporal is the path of the Temporal CLI. "" finds it.
	Temporal string
	// Deployment makes the worker one of a version of a Temporal Worker Deployment. The zero value does not.
	Deployment Deployment
	// Metrics is the address that metrics are served on, to anyone who reaches it; "" serves none.
	Metrics string
	// LogTo is the file that the log is appended to; "-" is Err. Defaults to holdpoint.log in Data.
	LogTo string
	// ToolsOnly makes a worker one that runs the tools of TaskQueue, which it must be given, and nothing else.
	ToolsOnly bool
	// KeepEvery is how often the store is compared with Temporal; 0 is never. One schedule does it for all workers of a task
	// queue, as the last of them to start says.
	KeepEvery time.Duration
	// StickyCache bounds how many workflows all workers of this process keep in memory between their tasks. 0 is the default
	// of Temporal's SDK.
	StickyCache int
	// Drain is how long a worker that is stopped lets the calls go on that it runs; with 0 they are stopped at once.
	Drain time.Duration
	// Version is shown by the bridge. Defaults to "dev".
	Version string

	// The rest is for tests.

	// Address is a Temporal server that runs already; Dev then starts none.
	Address string
	// Now is the activities' clock. Defaults to time.Now.
	Now func() time.Time
	// Faults is handed to the activities.
	Faults func(activities.Point)
	// Tools are added to the built-in ones; every agent may use them.
	Tools []tool.Tool
	// Models are added to the configured ones, by name.
	Models map[string]llm.Model
	// DynamicConfig is handed to the Temporal dev server.
	DynamicConfig map[string]string
	// UpdateTimeout bounds how long the bridge waits for a worker. 0 is the bridge's own default.
	UpdateTimeout time.Duration
	// NoWorker leaves Dev without a worker.
	NoWorker bool
	// NoticePause is the time before the second attempt to deliver a notice. 0 is the activities' own default.
	NoticePause time.Duration
	// KeepGrace is how long the store and Temporal may disagree. 0 is the activities' own default.
	KeepGrace time.Duration
	// Log goes before LogTo.
	Log *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	if o.Data == "" {
		o.Data = ".holdpoint"
	}
	var err error
	if o.Data, err = filepath.Abs(o.Data); err != nil {
		return o, err
	}
	orDefault(&o.Listen, "127.0.0.1:7400")
	orDefault(&o.TaskQueue, workflows.DefaultTaskQueue)
	orDefault(&o.Version, "dev")
	if o.Out == nil {
		o.Out = os.Stdout
	}
	if o.Err == nil {
		o.Err = os.Stderr
	}
	if o.Getenv == nil {
		o.Getenv = os.LookupEnv
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return o, nil
}

func orDefault(p *string, v string) {
	if *p == "" {
		*p = v
	}
}

// Deployment says which version of which Worker Deployment a worker is.
type Deployment struct {
	Name    string
	BuildID string
	// Pinned keeps a run on the version that it began with, for which workers must stay until it ends. Otherwise a run
	// goes on with the version that is current.
	Pinned bool
}

func (d Deployment) options() (worker.DeploymentOptions, error) {
	switch {
	case d == Deployment{}:
		return worker.DeploymentOptions{}, nil
	case d.Name == "" || d.BuildID == "":
		return worker.DeploymentOptions{}, errors.New("a worker of a deployment needs both its name and a build id: give --deployment-name and --build-id")
	}
	o := worker.DeploymentOptions{UseVersioning: true, Version: worker.WorkerDeploymentVersion{DeploymentName: d.Name, BuildID: d.BuildID},
		DefaultVersioningBehavior: workflow.VersioningBehaviorAutoUpgrade}
	if d.Pinned {
		o.DefaultVersioningBehavior = workflow.VersioningBehaviorPinned
	}
	return o, nil
}
