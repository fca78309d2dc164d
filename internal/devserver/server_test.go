package devserver_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"gopkg.in/yaml.v3"

	"holdpoint/internal/devserver"
)

// parentDir, when set, makes this test binary a process that starts a server on a file in that directory,
// says where it is and waits to be killed.
const parentDir = "HOLDPOINT_TEST_DEVSERVER_PARENT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentDir); dir != "" {
		os.Exit(parent(dir))
	}
	os.Exit(m.Run())
}

func parent(dir string) int {
	bin, err := devserver.Find(filepath.Join("..", "..", "bin"))
	if err != nil {
		fmt.Println(err)
		return 1
	}
	s, err := devserver.Start(context.Background(), devserver.Options{Binary: bin, DBFile: filepath.Join(dir, "t.db")})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(s.Address(), s.PID())
	<-s.Done()
	return 1
}

func binary(t *testing.T) string {
	t.Helper()
	bin, err := devserver.Find(filepath.Join("..", "..", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

func start(t *testing.T, o devserver.Options) *devserver.Server {
	t.Helper()
	o.Binary = binary(t)
	s, err := devserver.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return s
}

func dial(t *testing.T, address, namespace string) client.Client {
	t.Helper()
	c, err := client.DialContext(t.Context(), client.Options{HostPort: address, Namespace: namespace})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// eventually waits until the condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-deadline.C:
			t.Fatalf("waited 30s in vain: %s", what)
		case <-tick.C:
		}
	}
}

func answers(address string) bool {
	conn, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func alive(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestServerKeepsItsStateInAFile(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "deep", "temporal.db")
	o := devserver.Options{DBFile: db, Namespace: "house", LogFile: filepath.Join(filepath.Dir(db), "temporal.log")}
	first := start(t, o)
	run, err := dial(t, first.Address(), "house").ExecuteWorkflow(t.Context(),
		client.StartWorkflowOptions{ID: "kept", TaskQueue: "nobody"}, "NoSuchWorkflow")
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Stop(); err != nil {
		t.Fatal(err)
	}
	if alive(first.PID()) || answers(first.Address()) {
		t.Error("the server is still there after Stop")
	}

	second := start(t, o)
	found, err := dial(t, second.Address(), "house").DescribeWorkflow(t.Context(), "kept", "")
	if err != nil {
		t.Fatal(err)
	}
	if got := found.WorkflowExecution.RunID; got != run.GetRunID() {
		t.Errorf("run id %s after a restart, want %s", got, run.GetRunID())
	}
	if second.UIAddress() != "" {
		t.Errorf("UIAddress() = %q without a UI", second.UIAddress())
	}
}

func TestServerInMemoryWithUI(t *testing.T) {
	t.Parallel()
	s := start(t, devserver.Options{
		UI: true, DynamicConfig: map[string]string{"limit.blobSize.error": "1048576", "frontend.enableUpdateWorkflowExecution": "true"},
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.UIAddress(), nil)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the UI answers", func() bool {
		res, err := http.DefaultClient.Do(req)
		return err == nil && res.Body.Close() == nil && res.StatusCode == http.StatusOK
	})
	for _, address := range []string{s.Address(), strings.TrimPrefix(s.UIAddress(), "http://")} {
		if !strings.HasPrefix(address, "127.0.0.1:") {
			t.Errorf("%s is not on loopback", address)
		}
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
	if err := s.Stop(); err != nil {
		t.Errorf("a second Stop: %v", err)
	}
}

func TestServerDiesWithAKilledParent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), parentDir+"="+dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if cmd.ProcessState == nil {
			_ = cmd.Process.Kill() // only when the test failed before it did
			_ = cmd.Wait()
		}
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the parent said %q: %v", line, err)
	}
	var address string
	var pid int
	if _, err := fmt.Sscan(line, &address, &pid); err != nil {
		t.Fatalf("the parent said %q: %v", line, err)
	}
	if !answers(address) || !alive(pid) {
		t.Fatalf("the server at %s (process %d) is not running", address, pid)
	}
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // reports the kill
	eventually(t, "the server is gone", func() bool { return !answers(address) && !alive(pid) })
	start(t, devserver.Options{DBFile: filepath.Join(dir, "t.db")})
}

func TestServerRefusesAFileInUse(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "t.db")
	first := start(t, devserver.Options{DBFile: db})
	_, err := devserver.Start(t.Context(), devserver.Options{Binary: binary(t), DBFile: db})
	var inUse *devserver.InUseError
	if !errors.As(err, &inUse) || inUse.PID != first.PID() {
		t.Fatalf("a second server on the file: %v", err)
	}
	want := fmt.Sprintf("the database %s is in use by the Temporal dev server with process id %d: stop that one first, or use another directory for the data", db, first.PID())
	if err.Error() != want {
		t.Errorf("got %q, want %q", err, want)
	}
	if !answers(first.Address()) {
		t.Error("the first server suffered")
	}
}

func TestServerThatIsNoneSaysWhatItWrote(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bin := script(t, dir, "echo old; echo 'no such subcommand: \x1b[31mserver' >&2; exit 3")
	logFile := filepath.Join(dir, "t.log")
	if err := os.WriteFile(logFile, []byte("from an earlier start\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := devserver.Start(t.Context(), devserver.Options{Binary: bin, DBFile: filepath.Join(dir, "t.db"), LogFile: logFile})
	want := "the Temporal dev server " + bin + " did not start: it ended: exit status 3\nThe end of its log:\nold\nno such subcommand: ?[31mserver"
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
	start(t, devserver.Options{DBFile: filepath.Join(dir, "t.db")}) // the failed start left no lock behind
}

// TestServerTriesOtherPortsWhenTheyAreTaken has one that panics over a port, and writes a long stack behind that.
func TestServerTriesOtherPortsWhenTheyAreTaken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	bin := script(t, dir, fmt.Sprintf("if mkdir %q; then echo 'listen tcp 127.0.0.1:1: bind: address already in use'; seq 20000; exit 2; fi; exec %q \"$@\"",
		filepath.Join(dir, "tried"), binary(t)))
	s, err := devserver.Start(t.Context(), devserver.Options{Binary: bin})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(); err != nil {
		t.Error(err)
	}
}

func TestStartEndsWithItsContext(t *testing.T) {
	t.Parallel()
	bin := script(t, t.TempDir(), "exec sleep 600")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := devserver.Start(ctx, devserver.Options{Binary: bin})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
}

func TestStartOfABinaryThatIsNotThere(t *testing.T) {
	t.Parallel()
	_, err := devserver.Start(t.Context(), devserver.Options{Binary: filepath.Join(t.TempDir(), "temporal")})
	if !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func script(t *testing.T, dir, body string) string {
	t.Helper()
	path := filepath.Join(dir, "temporal")
	// A process forked by another test while the file is open for writing would make it "busy" to execute.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// What the servers have that this package starts, those have too that deploy/ describes.
func TestDeployedServersHaveTheSameSettings(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", "temporal", "dynamicconfig.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var deployed map[string][]struct{ Value any }
	if err := yaml.Unmarshal(text, &deployed); err != nil {
		t.Fatal(err)
	}
	topology, err := os.ReadFile(filepath.Join("..", "..", "deploy", "topology"))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range devserver.Settings() {
		if got := deployed[key]; len(got) != 1 || fmt.Sprint(got[0].Value) != want {
			t.Errorf("deploy/temporal/dynamicconfig.yaml has %v for %s, want %s", got, key, want)
		}
		if !strings.Contains(string(topology), "--dynamic-config-value "+key+"="+want) {
			t.Errorf("deploy/topology does not set %s", key)
		}
	}
}
