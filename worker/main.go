// Command worker runs Holdpoint's workflows and activities on a Temporal cluster: `go run ./worker -config DIR`.
// It finds Temporal by the standard TEMPORAL_* variables and profile file. `holdpoint worker` is the same.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"holdpoint/internal/app"
)

func main() {
	var o app.Options
	flag.StringVar(&o.Config, "config", "", "file or directory of YAML components")
	flag.StringVar(&o.Data, "data", ".holdpoint", "directory for everything that is kept")
	flag.StringVar(&o.TaskQueue, "task-queue", "", "Temporal task queue (default \"holdpoint\")")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o app.Options) (err error) {
	a, err := app.Worker(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	fmt.Println("The worker runs. Start a run with: go run ./starter -agent NAME -input TEXT")
	return a.Run(ctx)
}
