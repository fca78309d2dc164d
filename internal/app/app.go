package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"holdpoint/activities"
	"holdpoint/api/web"
	"holdpoint/internal/app/demo"
	"holdpoint/internal/auth"
	"holdpoint/internal/config"
	"holdpoint/internal/devserver"
	"holdpoint/internal/redact"
	"holdpoint/internal/seal"
	"holdpoint/internal/secrets"
	"holdpoint/internal/store"
	"holdpoint/internal/store/mongorules"
	"holdpoint/internal/telemetry"
)

// App is a running Holdpoint: a worker, a bridge, or both.
type App struct {
	o         Options
	log       *slog.Logger
	plain     *slog.Logger // beneath log, which hides secrets
	redact    *redact.Rules
	telemetry *telemetry.Telemetry
	metrics   string     // the address they are served on
	keys      *seal.Ring // nil: nothing is sealed
	defs      *definitions
	schemas   *schemas
	store     *store.Store
	secrets   *secrets.Keys     // nil where none are configured
	mongo     *mongorules.Rules // nil where the store keeps the rules
	notifiers map[string]activities.Notifier
	client    client.Client
	server    *devserver.Server
	bridge    *bridge
	pages     *web.Server
	worker    worker.Worker
	settle    func(context.Context) // waits for what it ran
	token     string
	issuers   map[string]*auth.OIDC // by their component's name
	failed    chan error
	closers   []func() error // run in reverse
}

// Dev runs everything on this machine, beside a Temporal dev server of its own. It returns when all is ready.
func Dev(ctx context.Context, o Options) (*App, error) {
	a, err := newApp(o)
	if err != nil {
		return nil, err
	}
	if err := a.startDev(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// Worker runs the half that executes: workflows and activities. The Temporal connection comes from the standard
// TEMPORAL_* variables and profile file.
func Worker(ctx context.Context, o Options) (*App, error) {
	a, err := newApp(o)
	if err != nil {
		return nil, err
	}
	err = a.startHalf(ctx, "worker", a.startWorker)
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// API runs the half that people and programs talk to: the HTTP bridge.
func API(ctx context.Context, o Options) (*App, error) {
	a, err := newApp(o)
	if err != nil {
		return nil, err
	}
	err = a.startHalf(ctx, "bridge", func() error { return a.startBridge(ctx, false) })
	if err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func newApp(o Options) (*App, error) {
	if err := o.checkToolsOnly(); err != nil {
		return nil, err
	}
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	return &App{o: o, schemas: &schemas{}, failed: make(chan error, 4), token: o.Token, issuers: map[string]*auth.OIDC{}}, nil
}

func (a *App) startDev(ctx context.Context) error {
	if err := a.prepare(ctx, partDev); err != nil {
		return err
	}
	address, err := a.temporal(ctx)
	if err != nil {
		return err
	}
	if err := a.dial(ctx, client.Options{HostPort: address, Namespace: client.DefaultNamespace}); err != nil {
		return err
	}
	if !a.o.NoWorker {
		if err := a.startWorker(); err != nil {
			return err
		}
	}
	if err := a.startBridge(ctx, true); err != nil {
		return err
	}
	return writeDevInfo(a.o.Data, DevInfo{URL: a.URL(), Token: a.token, TemporalAddress: address,
		TemporalUI: a.TemporalUI(), Config: a.o.Config, TaskQueue: a.o.TaskQueue, PID: os.Getpid()})
}

// temporal starts the dev server, or takes the one that is given, and returns its address.
func (a *App) temporal(ctx context.Context) (string, error) {
	if a.o.Address != "" {
		return a.o.Address, nil
	}
	private := filepath.Join(a.o.Data, privateDir)
	server, err := devserver.Start(ctx, devserver.Options{Binary: a.o.Temporal, DBFile: filepath.Join(private, "temporal.db"),
		LogFile: filepath.Join(private, "temporal.log"), UI: true, DynamicConfig: a.o.DynamicConfig})
	if err != nil {
		return "", err
	}
	a.server = server
	a.closing(server.Stop)
	return server.Address(), nil
}

// Store is the data plane.
func (a *App) Store() *store.Store { return a.store }

// Client is the connection to Temporal.
func (a *App) Client() client.Client { return a.client }

func (a *App) startHalf(ctx context.Context, part string, start func() error) error {
	if a.o.Config == "" {
		return errors.New("no configuration: name a file or directory with --config")
	}
	if err := a.prepare(ctx, part); err != nil {
		return err
	}
	options, err := connection()
	if err != nil {
		return err
	}
	if err := a.dial(ctx, options); err != nil {
		return err
	}
	if err := namespaceThere(ctx, a.client, options); err != nil {
		return err
	}
	return start()
}

// partDev is the part of a process that is everything.
const partDev = "dev"

// prepare makes what both halves need: data directory, log, metrics, definitions, store.
func (a *App) prepare(ctx context.Context, part string) error {
	where, err := a.configure(ctx, part)
	if err != nil {
		return err
	}
	return a.openStores(ctx, where)
}

// openStores opens the database, and that of rules, where there is one.
func (a *App) openStores(ctx context.Context, where store.Config) error {
	var err error
	if a.store, err = store.Open(ctx, where); err != nil {
		return err
	}
	a.closing(a.store.Close)
	return a.openRules(ctx, a.defs.cfg)
}

// configure makes what needs no other server, and says which database there is to open.
func (a *App) configure(ctx context.Context, part string) (where store.Config, err error) {
	dev := part == partDev
	if err := os.MkdirAll(filepath.Join(a.o.Data, privateDir), 0o700); err != nil {
		return where, fmt.Errorf("the data directory can't be made: %w: choose another with --data", err)
	}
	if err := a.openLog(); err != nil {
		return where, err
	}
	if err := a.measure(ctx, part); err != nil {
		return where, err
	}
	if err := a.openKeys(ctx); err != nil {
		return where, err
	}
	cfg, err := a.loadConfig(dev)
	if err != nil {
		return where, err
	}
	a.hide(cfg.Redacted...)
	for _, w := range cfg.Warnings {
		a.log.Warn("the configuration has a mistake that stops nothing", "where", w.Pos.String(), "key", w.Key, "what", w.Text)
	}
	if a.defs, err = newDefinitions(cfg, a.o); err != nil {
		return where, err
	}
	if err := a.openNotifiers(cfg); err != nil {
		return where, err
	}
	if err := checkSharedStore(cfg, a.o); err != nil {
		return where, err
	}
	if err := a.openSecrets(cfg, dev); err != nil {
		return where, err
	}
	if where, err = chooseStore(cfg, a.o, dev); err != nil {
		return where, err
	}
	where.Log = a.log
	return a.sealing(where, cfg), nil
}

// loadConfig reads what is configured; in Dev without configuration, the demo, written into the data directory.
func (a *App) loadConfig(dev bool) (*config.Config, error) {
	if a.o.Config == "" && dev {
		if a.o.NoDemo {
			return &config.Config{}, nil
		}
		path, err := demo.Write(a.o.Data, a.o.Getenv)
		if err != nil {
			return nil, fmt.Errorf("the demo can't be written: %w", err)
		}
		a.o.Config = path
	}
	path, err := filepath.Abs(a.o.Config)
	if err != nil {
		return nil, err
	}
	a.o.Config = path
	return config.Load(path, a.o.Getenv)
}

func (a *App) openLog() error {
	var err error
	if a.plain, err = a.plainLog(); err != nil {
		return err
	}
	a.hide() // before the configuration is known, by the usual names
	return nil
}

// hide has secrets left out of what is told, by the names that the configuration adds to the usual ones.
func (a *App) hide(names ...string) {
	a.redact = redact.New(names...)
	a.log = telemetry.HidingLog(a.plain, a.redact)
}

func (a *App) plainLog() (*slog.Logger, error) {
	if a.o.Log != nil {
		return a.o.Log, nil
	}
	path := a.o.LogTo
	if path == "-" {
		return telemetry.NewLog(a.o.Err), nil
	}
	orDefault(&path, filepath.Join(a.o.Data, privateDir, "holdpoint.log"))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the log can't be opened: %w: choose another file with --log, or - for stderr", err)
	}
	a.closing(f.Close)
	return telemetry.NewLog(f), nil
}

// Run blocks until ctx ends or a part fails.
func (a *App) Run(ctx context.Context) error {
	var gone <-chan struct{}
	if a.server != nil {
		gone = a.server.Done()
	}
	select {
	case <-ctx.Done():
		return nil
	case err := <-a.failed:
		return err
	case <-gone:
		return errors.New("the Temporal dev server has ended: see temporal.log in the data directory")
	}
}

// Close stops every part, the last started first.
func (a *App) Close() error {
	var errs []error
	for i := len(a.closers) - 1; i >= 0; i-- {
		errs = append(errs, a.closers[i]())
	}
	a.closers = nil
	return errors.Join(errs...)
}

func (a *App) closing(f func() error) { a.closers = append(a.closers, f) }

// URL is the bridge's base URL; "" without a bridge.
func (a *App) URL() string {
	if a.bridge == nil {
		return ""
	}
	if a.bridge.tls {
		return "https://" + a.bridge.addr
	}
	return "http://" + a.bridge.addr
}

// Token is the bridge's bearer token.
func (a *App) Token() string { return a.token }

// TemporalAddress is where the dev server's frontend listens; "" without one.
func (a *App) TemporalAddress() string {
	if a.server == nil {
		return a.o.Address
	}
	return a.server.Address()
}

// TemporalUI is the dev server's web page; "" without one.
func (a *App) TemporalUI() string {
	if a.server == nil {
		return ""
	}
	return a.server.UIAddress()
}

// bridge is the HTTP half while it runs.
type bridge struct {
	addr string
	tls  bool
	http *http.Server
	net  net.Listener
}
