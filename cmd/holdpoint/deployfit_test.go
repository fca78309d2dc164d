package main

import (
	"io"
	"net"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// mountedAt reports whether a path of a service is on a volume, or, where that will do, in memory.
func (s composedService) mountedAt(dir string, memory bool) bool {
	for _, v := range s.Volumes {
		if v.Target == dir || strings.HasPrefix(dir, v.Target+"/") {
			return true
		}
	}
	return memory && slices.ContainsFunc(s.Tmpfs, func(m string) bool {
		at, _, _ := strings.Cut(m, ":")
		return at == dir || strings.HasPrefix(dir, at+"/")
	})
}

// flagOf is the value of a flag of a command line.
func flagOf(command []string, name string) string {
	if n := slices.Index(command, name); n >= 0 && n+1 < len(command) {
		return command[n+1]
	}
	return ""
}

// checkRunning finds what a service of ours needs to run on a root file system that can't be written to, and to be reached.
func checkRunning(t *testing.T, name string, s composedService, all composed) {
	t.Helper()
	kind := s.Command[0]
	if !s.mountedAt(flagOf(s.Command, "--config"), false) {
		t.Errorf("%s: its configuration is not mounted at %s", name, flagOf(s.Command, "--config"))
	}
	if data := flagOf(s.Command, "--data"); !s.mountedAt(data, kind == "token") {
		t.Errorf("%s: nothing that is kept is mounted at %s", name, data)
	}
	if keys, _ := s.lookup("HOLDPOINT_ENCRYPTION_KEYS"); keys == "" {
		t.Errorf("%s has no keys", name)
	}
	for flag, wanted := range map[string]bool{"--metrics": kind != "token", "--listen": kind == "api"} {
		if host, _, err := net.SplitHostPort(flagOf(s.Command, flag)); wanted && (err != nil || host != "0.0.0.0") {
			t.Errorf("%s: %s %q is not reached by other containers", name, flag, flagOf(s.Command, flag))
		}
	}
	if kind == "api" && !slices.Contains(s.Command, "--behind-proxy") {
		t.Errorf("%s does not know that it is behind a proxy", name)
	}
	if image := map[string]string{"worker": "worker", "api": "bridge", "token": "bridge"}[kind]; s.Build.Target != image {
		t.Errorf("%s is of the image %s", name, s.Build.Target)
	}
	if kind == "worker" {
		workspace, _ := s.lookup("HOLDPOINT_WORKSPACE")
		if workspace == "" || !s.mountedAt(workspace, false) || !s.mountedAt("/tmp", true) {
			t.Errorf("%s can't write to its workspace %q or /tmp", name, workspace)
		}
		root, _ := newRoot(&cli{out: io.Discard, err: io.Discard, in: strings.NewReader(""), getenv: s.lookup, now: time.Now})
		cmd, _, _ := root.Find(s.Command)
		drain, err := time.ParseDuration(cmd.Flags().Lookup("drain").DefValue)
		if grace, _ := time.ParseDuration(s.Grace); err != nil || grace < drain+5*time.Second {
			t.Errorf("%s is killed after %q, and drains for %s", name, s.Grace, drain)
		}
	}
	if top, err := filepath.Abs(repository); err != nil || s.Build.Context != top {
		t.Errorf("%s is built in %s, not in %s (%v)", name, s.Build.Context, top, err)
	}
	checkDatabase(t, name, s, all)
}

// checkDatabase holds the address of the database against the service that is it and the script that makes it.
func checkDatabase(t *testing.T, name string, s composedService, all composed) {
	t.Helper()
	dsn, _ := s.lookup("HOLDPOINT_DSN")
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	script := deployFile(t, "postgres/holdpoint.sh")
	if all.Services[u.Hostname()].Image == "" || u.Port() != "5432" || !strings.Contains(script, "CREATE ROLE "+u.User.Username()+" ") ||
		!strings.Contains(script, "CREATE DATABASE "+path.Base(u.Path)+" OWNER "+u.User.Username()+";") {
		t.Errorf("%s: nobody makes the database of %s", name, u.Redacted())
	}
}

// TestWhatIsDeployedFitsTogether looks at what others' images read: no program of ours says that it is misspelt.
func TestWhatIsDeployedFitsTogether(t *testing.T) {
	t.Parallel()
	c := compose(t)
	lives := map[string]bool{}
	for name, s := range c.Services {
		if s.Build != nil {
			checkRunning(t, name, s, c)
		}
		if data := flagOf(s.Command, "--data"); s.Build != nil && s.Command[0] == "worker" {
			for _, v := range s.Volumes {
				if v.Target == data && lives[v.Source] {
					t.Errorf("%s shares %s with another worker", name, data)
				}
				lives[v.Source] = lives[v.Source] || v.Target == data
			}
		}
	}
	for service, paths := range map[string][]string{
		"postgres":   {"/var/lib/postgresql/data", "/docker-entrypoint-initdb.d"},
		"temporal":   {path.Dir(value(c.Services["temporal"], "DYNAMIC_CONFIG_FILE_PATH"))},
		"proxy":      {"/etc/caddy/Caddyfile", "/data"},
		"prometheus": {"/etc/prometheus/prometheus.yml", "/prometheus"},
	} {
		for _, p := range paths {
			if !c.Services[service].mountedAt(p, false) {
				t.Errorf("%s: nothing is mounted at %s", service, p)
			}
		}
	}
	deployFile(t, "temporal/"+path.Base(value(c.Services["temporal"], "DYNAMIC_CONFIG_FILE_PATH")))
	for _, tc := range []struct{ text, pattern string }{
		{deployFile(t, "caddy/Caddyfile"), `(?m)^\s+health_uri /readyz$`},
		{deployFile(t, "caddy/Caddyfile"), `(?m)^\s+health_timeout ([4-9]|[1-9][0-9])s$`}, // more than a bridge takes to look, 3 s
		{deployFile(t, "caddy/Caddyfile"), `(?m)^\{\$HOLDPOINT_HOST:localhost\} \{$`},
		{value(c.Services["proxy"], "HOLDPOINT_HOST"), `^localhost$`},
		{deployFile(t, "temporal/dynamicconfig.yaml"), `(?m)^system\.enableActivityEagerExecution:$`},
		{deployFile(t, "Dockerfile.dockerignore"), `(?m)^deploy/\.env$`},
		{strings.Join(c.Services["postgres"].Healthcheck.Test, " "), `pg_isready -U holdpoint -d holdpoint `},
		{strings.Join(c.Services["temporal"].Healthcheck.Test, " "), `temporal operator cluster health --address temporal:7233$`},
		{value(c.Services["temporal"], "POSTGRES_SEEDS") + ":" + value(c.Services["temporal"], "DB_PORT"), `^postgres:5432$`},
		{value(c.Services["temporal"], "POSTGRES_USER"), `^` + value(c.Services["postgres"], "POSTGRES_USER") + `$`},
		{deployFile(t, "postgres/holdpoint.sh"), `"\$HOLDPOINT_DB_PASSWORD"`},
		{value(c.Services["postgres"], "HOLDPOINT_DB_PASSWORD"), `^given$`},
	} {
		if !regexp.MustCompile(tc.pattern).MatchString(tc.text) {
			t.Errorf("there is no %s in %q", tc.pattern, tc.text)
		}
	}
	upstreams := regexp.MustCompile(`\b([a-z]+-[0-9]+):(?:7400|9464)\b`)
	for _, m := range upstreams.FindAllStringSubmatch(deployFile(t, "caddy/Caddyfile")+deployFile(t, "prometheus/prometheus.yml"), -1) {
		if c.Services[m[1]].Build == nil {
			t.Errorf("there is no service %s", m[1])
		}
	}
	checkPorts(t, c)
	checkPrometheus(t)
	checkImages(t)
}

// checkPorts holds what is open on the host against where docs/deploy.md says that it is, and where the images listen.
func checkPorts(t *testing.T, c composed) {
	t.Helper()
	said, err := os.ReadFile(filepath.Join(repository, "docs", "deploy.md"))
	if err != nil {
		t.Fatal(err)
	}
	for service, want := range map[string]struct {
		target int
		at     string
	}{"proxy": {443, "https://localhost`"}, "temporal-ui": {8080, "http://127.0.0.1:8233`"}, "prometheus": {9090, "http://127.0.0.1:9090`"}} {
		ports := c.Services[service].Ports
		if len(ports) != 1 || ports[0].Target != want.target || !strings.Contains(string(said), want.at) ||
			service != "proxy" && !strings.HasSuffix(want.at, ":"+ports[0].Published+"`") {
			t.Errorf("%s is at %+v, and the document says %s", service, ports, want.at)
		}
	}
}

func value(s composedService, name string) string {
	v, _ := s.lookup(name)
	return v
}
