package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.temporal.io/sdk/contrib/envconfig"
)

// composed is what Docker Compose makes of deploy/docker-compose.yml.
type composed struct {
	Services map[string]composedService `json:"services"`
}

type composedService struct {
	Image       string             `json:"image"`
	Command     []string           `json:"command"`
	Environment map[string]*string `json:"environment"`
	ReadOnly    bool               `json:"read_only"`
	CapDrop     []string           `json:"cap_drop"`
	SecurityOpt []string           `json:"security_opt"`
	Privileged  bool               `json:"privileged"`
	Build       *struct{ Context, Dockerfile, Target string }
	Ports       []struct {
		HostIP    string `json:"host_ip"`
		Published string `json:"published"`
		Target    int    `json:"target"`
	} `json:"ports"`
	Volumes     []struct{ Type, Source, Target string } `json:"volumes"`
	Tmpfs       []string                                `json:"tmpfs"`
	Grace       string                                  `json:"stop_grace_period"`
	Healthcheck struct{ Test []string }                 `json:"healthcheck"`
}

func (s composedService) lookup(name string) (string, bool) {
	v := s.Environment[name]
	if v == nil {
		return "", false
	}
	return *v, true
}

func deployFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(repository, "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

var variable = regexp.MustCompile(`\$\{([A-Z_]+)`)

// compose has Compose's own library read the file, with every variable of env.example given.
func compose(t *testing.T) composed {
	t.Helper()
	given := map[string]bool{}
	args := []string{"run", ".", "../../deploy/docker-compose.yml"}
	for line := range strings.Lines(deployFile(t, "env.example")) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(line, "#") {
			given[name] = true
			args = append(args, name+"="+map[bool]string{true: "given", false: value}[value == ""])
		}
	}
	for _, m := range variable.FindAllStringSubmatch(deployFile(t, "docker-compose.yml"), -1) {
		if !given[m[1]] {
			t.Errorf("docker-compose.yml needs %s, and env.example does not have it", m[1])
		}
	}
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = filepath.Join(repository, "tools", "compose")
	var trouble bytes.Buffer
	cmd.Stderr = &trouble
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("docker-compose.yml is none: %v\n%s", err, trouble.String())
	}
	var c composed
	if err := json.Unmarshal(out, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTheComposeFileFitsTheProgram(t *testing.T) {
	t.Parallel()
	c := compose(t)
	ours := 0
	for name, s := range c.Services {
		for _, v := range s.Volumes {
			if _, err := os.Stat(v.Source); v.Type == "bind" && err != nil {
				t.Errorf("%s mounts what is not there: %v", name, err)
			}
		}
		for _, p := range s.Ports {
			if name != "proxy" && p.HostIP != "127.0.0.1" {
				t.Errorf("%s is open to other machines at port %s", name, p.Published)
			}
		}
		if s.Build != nil {
			ours++
			checkService(t, name, s, c)
		}
	}
	if ours != 5 {
		t.Errorf("%d services are Holdpoint's", ours)
	}
}

func checkService(t *testing.T, name string, s composedService, all composed) {
	t.Helper()
	if !s.ReadOnly || s.Privileged || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
		t.Errorf("%s may do more than it needs", name)
	}
	docker := deployFile(t, "Dockerfile")
	stage := regexp.MustCompile(`(?ms)^FROM \S+ AS ` + s.Build.Target + `$.*?^USER [1-9][0-9]*:[1-9][0-9]*$`)
	if s.Build.Dockerfile != "deploy/Dockerfile" || !stage.MatchString(docker) {
		t.Errorf("%s: no target %q of %s that is not root's", name, s.Build.Target, s.Build.Dockerfile)
	}
	root, _ := newRoot(&cli{out: io.Discard, err: io.Discard, in: strings.NewReader(""), getenv: s.lookup, now: time.Now})
	cmd, rest, err := root.Find(s.Command)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err != nil {
		t.Fatalf("%s: %v: %v", name, s.Command, err)
	}
	for flag, serves := range map[string]string{"metrics": "prometheus/prometheus.yml", "listen": "caddy/Caddyfile"} {
		f := cmd.Flags().Lookup(flag)
		if f == nil || !f.Changed {
			continue
		}
		_, port, err := net.SplitHostPort(f.Value.String())
		if err != nil || !strings.Contains(deployFile(t, serves), name+":"+port) || !regexp.MustCompile(`(?m)^EXPOSE .*\b`+port+`\b`).MatchString(docker) {
			t.Errorf("%s: port %s is not in %s or the Dockerfile (%v)", name, port, serves, err)
		}
	}
	if got, _ := s.lookup("TEMPORAL_ADDRESS"); all.Services[strings.Split(got, ":")[0]].Image == "" {
		t.Errorf("%s: no service is at %q", name, got)
	}
	checkEnvironment(t, name, s)
}

// checkEnvironment finds who reads each variable: the configuration, Temporal's client, or the program.
func checkEnvironment(t *testing.T, name string, s composedService) {
	t.Helper()
	temporal, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{EnvLookup: lookup(s.lookup), DisableFile: true})
	if err != nil || temporal.HostPort != "temporal:7233" || temporal.Namespace != "default" {
		t.Errorf("%s: Temporal's client reads %q, %q, %v", name, temporal.HostPort, temporal.Namespace, err)
	}
	read := map[string]bool{"TEMPORAL_ADDRESS": true, "TEMPORAL_NAMESPACE": true, "HOLDPOINT_TOKEN": true, "HOLDPOINT_ENCRYPTION_KEYS": true}
	c := &cli{name: "holdpoint", out: io.Discard, err: os.Stderr, in: strings.NewReader(""), now: time.Now, getenv: func(n string) (string, bool) {
		read[n] = true
		return s.lookup(n)
	}}
	if code := execute(t.Context(), c, []string{"config", "check", filepath.Join(repository, "deploy", "config")}); code != exitOK {
		t.Errorf("%s: its configuration has mistakes", name)
	}
	for variable := range s.Environment {
		if !read[variable] {
			t.Errorf("%s: nobody reads %s", name, variable)
		}
	}
}

// lookup is Temporal's interface for an environment.
type lookup func(string) (string, bool)

func (l lookup) LookupEnv(name string) (string, bool) { return l(name) }
func (l lookup) Environ() []string                    { return nil }

// TestTheTopologyApprovesARun does what docs/deploy.md tells a new operator: it starts the topology, and gives the
// document's commands.
func TestTheTopologyApprovesARun(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	dir, err := os.MkdirTemp("", "holdpoint-topology-") // PostgreSQL's user must reach it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Mkdir(filepath.Join(m.dir, ".holdpoint"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dir, filepath.Join(m.dir, ".holdpoint", "topology")); err != nil {
		t.Fatal(err)
	}
	said := m.topology(t, dir)
	m.secondTopology(t, dir)
	url := regexp.MustCompile(`(?m)^Bridges +\S+ (\S+)$`).FindStringSubmatch(said) // the second, for a change
	if url == nil {
		t.Fatalf("no bridge is named:\n%s", said)
	}
	script, blocks := documentScript(t, "docs/deploy.md", "")
	if blocks != 1 {
		t.Fatalf("%d sh blocks in the document", blocks)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	out, err := m.command(ctx, "bash", "-c", strings.ReplaceAll(script, "http://127.0.0.1:7401", url[1])).CombinedOutput()
	if err != nil || !strings.Contains(string(out), "The kernel is: ") {
		t.Fatalf("%v\n%s", err, out)
	}
}

// secondTopology starts another one where one runs already, and where a port is taken.
func (m *machine) secondTopology(t *testing.T, dir string) {
	t.Helper()
	first, err := os.ReadFile(filepath.Join(dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	taken, err := net.Listen("tcp", "127.0.0.1:7401")
	if err == nil { // else somebody else has it
		defer taken.Close()
	}
	for _, tc := range []struct{ dir, ports, want string }{
		{dir, "free", "it runs already, as process " + strings.TrimSpace(string(first))}, {dir, "fixed", "it runs already"}, {t.TempDir(), "fixed", "of 127.0.0.1 is taken"},
	} {
		cmd := m.topologyCommand(t, tc.dir)
		cmd.Env = append(cmd.Env, "TOPOLOGY_PORTS="+tc.ports)
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), tc.want) || !strings.Contains(string(out), "TOPOLOGY_PORTS=free make topology") || strings.Contains(string(out), "postgres has ended") {
			t.Errorf("a second one in %s: %v\n%s", tc.dir, err, out)
		}
	}
	if again, err := os.ReadFile(filepath.Join(dir, "pid")); err != nil || string(again) != string(first) {
		t.Errorf("the first is %q now: %v", again, err)
	}
}

func (m *machine) topologyCommand(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	script, err := filepath.Abs(filepath.Join(repository, "deploy", "topology"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := m.command(context.Background(), script)
	cmd.Env = append(cmd.Env, "TOPOLOGY_DIR="+dir, "TOPOLOGY_PORTS=free", "HOLDPOINT="+filepath.Join(m.dir, "bin", "holdpoint"),
		"TEMPORAL="+filepath.Join(m.dir, "bin", "temporal"))
	return cmd
}

// topology starts the topology, returns what it says when it is ready, and ends it with the test as Ctrl-C does.
func (m *machine) topology(t *testing.T, dir string) string {
	t.Helper()
	cmd := m.topologyCommand(t, dir)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	screen, ready, ended := newTerminal(), make(chan struct{}), make(chan error, 1)
	cmd.Stderr = screen
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		for in := bufio.NewScanner(out); in.Scan(); {
			_, _ = io.WriteString(screen, in.Text()+"\n")
			if strings.HasPrefix(in.Text(), "Ready.") {
				close(ready)
			}
		}
		ended <- cmd.Wait()
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGINT)
		select {
		case err := <-ended:
			if err != nil || !strings.Contains(screen.String(), "Everything has ended") {
				t.Errorf("the topology did not end well: %v\n%s", err, screen)
			}
		case <-time.After(2 * time.Minute):
			t.Errorf("the topology did not end:\n%s", screen)
			_ = exec.Command("sh", "-c", `for p in $(cat "$1"); do kill -9 -- "-$p"; done`, "sh", filepath.Join(dir, "pids")).Run()
			_ = cmd.Process.Kill()
		}
	})
	select {
	case <-ready:
	case err := <-ended:
		ended <- err
		t.Fatalf("the topology ended at its start: %v\n%s", err, screen)
	case <-time.After(3 * time.Minute):
		t.Fatalf("the topology did not become ready:\n%s", screen)
	}
	return screen.String()
}
