package apptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/types/known/durationpb"

	"holdpoint/internal/store/pgtest"
)

// EnvTemporal names what the tests' own Temporal server is: "" is the CLI's development server, "postgres" the server that
// operators run, with its persistence on a PostgreSQL of the tests. `make temporal-server` builds that one.
const EnvTemporal = "HOLDPOINT_TEST_TEMPORAL"

// Operated reports whether the tests' own server is the one that operators run.
func Operated() bool { return os.Getenv(EnvTemporal) == "postgres" }

// operated is a Temporal server on PostgreSQL.
type operated struct {
	address string
	stop    func()
}

// operatedConfig is the server's: all services in one process, on loopback.
const operatedConfig = `log: {stdout: true, level: error}
persistence:
  defaultStore: main
  visibilityStore: visibility
  numHistoryShards: 4
  datastores:
    main: {sql: {pluginName: postgres12_pgx, databaseName: temporal, connectAddr: "localhost:5432", connectProtocol: tcp, user: postgres, password: none, maxConns: 40, maxIdleConns: 40, connectAttributes: {host: %[1]q}}}
    visibility: {sql: {pluginName: postgres12_pgx, databaseName: visibility, connectAddr: "localhost:5432", connectProtocol: tcp, user: postgres, password: none, maxConns: 10, maxIdleConns: 10, connectAttributes: {host: %[1]q}}}
global: {membership: {maxJoinDuration: 30s, broadcastAddress: 127.0.0.1}}
services:
  frontend: {rpc: {grpcPort: %[2]d, membershipPort: %[3]d, bindOnLocalHost: true}}
  matching: {rpc: {grpcPort: %[4]d, membershipPort: %[5]d, bindOnLocalHost: true}}
  history: {rpc: {grpcPort: %[6]d, membershipPort: %[7]d, bindOnLocalHost: true}}
  worker: {rpc: {grpcPort: %[8]d, membershipPort: %[9]d, bindOnLocalHost: true}}
clusterMetadata:
  enableGlobalNamespace: false
  failoverVersionIncrement: 10
  masterClusterName: active
  currentClusterName: active
  clusterInformation: {active: {enabled: true, initialFailoverVersion: 1, rpcName: frontend, rpcAddress: "127.0.0.1:%[2]d"}}
dcRedirectionPolicy: {policy: noop}
publicClient: {hostPort: "127.0.0.1:%[2]d"}
dynamicConfigClient: {filepath: %[10]q, pollInterval: 60s}
`

// startOperated starts one that lives as long as this process.
func startOperated(t testing.TB) (*operated, error) {
	t.Helper()
	_, file, _, _ := runtime.Caller(0)
	bin := filepath.Join(filepath.Dir(file), "..", "..", "..", "bin", "temporal-server")
	sockets, err := schemas(filepath.Join(bin, "sql"))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "holdpoint-temporal-")
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(8)
	if err != nil {
		return nil, err
	}
	dynamic := filepath.Join(dir, "dynamic.yaml")
	var settings strings.Builder
	for key, value := range DynamicConfig() {
		fmt.Fprintf(&settings, "%s:\n- value: %s\n", key, value)
	}
	text := fmt.Sprintf(operatedConfig, sockets, ports[0], ports[1], ports[2], ports[3], ports[4], ports[5], ports[6], ports[7], dynamic)
	if err := errors.Join(os.WriteFile(dynamic, []byte(settings.String()), 0o600), os.WriteFile(filepath.Join(dir, "development.yaml"), []byte(text), 0o600)); err != nil {
		return nil, err
	}
	s := &operated{address: fmt.Sprint("127.0.0.1:", ports[0])}
	if err := s.run(filepath.Join(bin, "server"), dir); err != nil {
		return nil, err
	}
	return s, s.ready(filepath.Join(dir, "log"))
}

// schemas makes the server's databases and returns the directory of the socket they are reached by.
func schemas(tool string) (sockets string, err error) {
	for _, name := range []string{"temporal", "visibility"} {
		dsn, err := pgtest.Lasting(name)
		if err != nil {
			return "", err
		}
		u, err := url.Parse(dsn)
		if err != nil {
			return "", err
		}
		sockets = u.Query().Get("host")
		for _, args := range [][]string{{"setup-schema", "-v", "0.0"}, {"update-schema", "--schema-name", "postgresql/v12/" + name}} {
			common := []string{"--pl", "postgres12_pgx", "--ep", "localhost", "--port", "5432", "-u", "postgres", "--pw", "none", "--db", name, "--ca", "host=" + sockets}
			if out, err := exec.Command(tool, append(common, args...)...).CombinedOutput(); err != nil {
				return "", fmt.Errorf("%s %v: %w\n%s", tool, args, err, out)
			}
		}
	}
	return sockets, nil
}

// run starts the server below a shell that ends it when this process is gone, however that ends.
func (s *operated) run(binary, dir string) error {
	cmd := exec.Command("sh", "-c", `"$@" >"$0/log" 2>&1 & server=$!; cat >/dev/null; kill -TERM $server; wait $server; rm -rf "$0"`,
		dir, binary, "--root", dir, "--config", ".", "--env", "development", "start")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // a Ctrl-C is for the tests
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	s.stop = func() { _, _ = stdin.Close(), cmd.Wait() }
	return cmd.Start()
}

// ready makes the default namespace and waits until it can be used.
func (s *operated) ready(log string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*Patience)
	defer cancel()
	ns, err := client.NewNamespaceClient(client.Options{HostPort: s.address})
	if err != nil {
		return err
	}
	defer ns.Close()
	made := false
	for {
		if !made {
			err = ns.Register(ctx, &workflowservice.RegisterNamespaceRequest{Namespace: client.DefaultNamespace, WorkflowExecutionRetentionPeriod: durationpb.New(72 * time.Hour)})
			made = err == nil
		} else if err = s.usable(ctx); err == nil {
			return nil
		}
		text, _ := os.ReadFile(log) // there is none at first
		if bytes.Contains(text, []byte(`"level":"fatal"`)) {
			return fmt.Errorf("the Temporal server did not come up:\n%s", text)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the Temporal server did not come up: %w\n%s", err, text)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// usable asks for what a test asks for first: the frontend keeps a list of namespaces that it renews from time to time.
func (s *operated) usable(ctx context.Context) error {
	c, err := client.Dial(client.Options{HostPort: s.address})
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: client.DefaultNamespace})
	return err
}

// freePorts are below those that the system hands out by itself, and below those that the server's table of its members
// has room for.
func freePorts(n int) (ports []int, err error) {
	for len(ports) < n {
		port := 20000 + rand.IntN(12000)
		l, err := net.Listen("tcp", fmt.Sprint("127.0.0.1:", port))
		if err != nil || slices.Contains(ports, port) {
			continue
		}
		if err := l.Close(); err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}
