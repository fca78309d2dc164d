package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	sdklog "go.temporal.io/sdk/log"
)

// connection are the settings of the TEMPORAL_* variables and the profile file. A key of the file that is misspelt would leave
// another namespace, or no TLS, in force, and so it is refused. So is a file that is named and not there.
func connection() (client.Options, error) {
	if file := os.Getenv("TEMPORAL_CONFIG_FILE"); file != "" {
		if _, err := os.Stat(file); err != nil {
			return client.Options{}, fmt.Errorf("TEMPORAL_CONFIG_FILE can't be used: %w", err)
		}
	}
	o, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{ConfigFileStrict: true})
	if err != nil {
		return o, fmt.Errorf("the connection settings (TEMPORAL_* variables, profile file) can't be used: %w", err)
	}
	return o, nil
}

func (a *App) dial(ctx context.Context, o client.Options) error {
	o.Logger = sdklog.NewStructuredLogger(a.log)
	o, err := a.telemetry.Client(a.keys.Guard(a.keys.Client(o), a.log))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	c, err := client.DialContext(ctx, o)
	if err != nil {
		return unanswered(o, err)
	}
	a.client = c
	a.closing(func() error { c.Close(); return nil })
	return nil
}

// unanswered is the error of a server that lets nobody in, or is not there.
func unanswered(o client.Options, err error) error {
	return fmt.Errorf("no Temporal server answers at %s: %w: check TEMPORAL_ADDRESS, and TEMPORAL_TLS_* and TEMPORAL_API_KEY where it wants them",
		cmp.Or(o.HostPort, client.DefaultHostPort), err)
}

// namespaceThere refuses a namespace that the server does not have: a bridge would start, and fail at every call. A server
// that keeps others from asking is believed.
func namespaceThere(ctx context.Context, c client.Client, o client.Options) error {
	name := cmp.Or(o.Namespace, client.DefaultNamespace)
	ctx, cancel := context.WithTimeout(ctx, 15*time.Second)
	defer cancel()
	_, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: name})
	var missing *serviceerror.NamespaceNotFound
	if !errors.As(err, &missing) {
		return nil
	}
	return fmt.Errorf("the Temporal server at %s has no namespace %q: check TEMPORAL_NAMESPACE, or make it: temporal operator namespace create --namespace %[2]s",
		cmp.Or(o.HostPort, client.DefaultHostPort), name)
}
