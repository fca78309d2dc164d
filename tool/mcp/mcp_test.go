package mcp_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"holdpoint/tool"
	"holdpoint/tool/mcp"
)

func TestAServerThatDiesInACall(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		idempotent bool
		calls      int
		says       string
	}{
		"may have had an effect":                {calls: 1, says: "Whether it took effect is unknown"},
		"of a tool that may run twice, runs so": {idempotent: true, calls: 2, says: "may be made again"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := filepath.Join(t.TempDir(), "calls")
			s := playing(t, mcp.Config{Idempotent: tc.idempotent}, played{Name: "crash", Schema: anyObject, Does: "die", Log: log}, played{Name: "work", Schema: anyObject})
			s.says(s.call("mcp__played__crash", `{"n":1}`), tool.StatusError, tc.says, "out of cheese")
			if got := strings.Count(content(t, log), `crash {"n":1} key-1`); got != tc.calls {
				t.Errorf("%d calls: %s", got, content(t, log))
			}
			s.says(s.call("mcp__played__work", `{"n":2}`), tool.StatusSuccess, `did {"n":2}`)
		})
	}
}

func TestToolsAreAsTheServerHasThemNow(t *testing.T) {
	t.Parallel()
	s := playing(t, mcp.Config{}, played{Name: "a", Schema: anyObject}, played{Name: "b.c", Schema: anyObject})
	if s.names() != "mcp__played__a mcp__played__b_c" {
		t.Fatalf("the tools are %s", s.names())
	}
	s.says(s.call("mcp__played__b_c", `{}`), tool.StatusSuccess, "did {}")
	before, err := s.Tool("mcp__played__a")
	if err != nil {
		t.Fatal(err)
	}
	s.plays(played{Name: "a", Schema: map[string]any{"type": "object", "required": []string{"x"}}})
	eventually(t, "the list to change", func() bool { return s.names() == "mcp__played__a" })
	after, err := s.Tool("mcp__played__a")
	if err != nil || string(after.Definition().Schema) == string(before.Definition().Schema) {
		t.Errorf("the schema is %s, %v", after.Definition().Schema, err)
	}
	if _, err := s.Tool("mcp__played__b_c"); !errors.Is(err, mcp.ErrNoTool) {
		t.Errorf("a tool that vanished: %v", err)
	}
}

func TestAServerThatCanNotBeUsed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		argv []string
		says string
	}{
		"is not there":    {[]string{"/no/such/program"}, "no such file"},
		"ends at once":    {[]string{"/bin/sh", "-c", "echo no licence >&2; exit 1"}, "no licence"},
		"speaks nonsense": {[]string{"/bin/sh", "-c", "echo hello; cat >/dev/null"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := run(t, mcp.Config{Name: "bad"}, t.TempDir(), nil, tc.argv...)
			began := time.Now()
			_, err := s.Tool("mcp__bad__x")
			if err == nil || errors.Is(err, mcp.ErrNoTool) || !strings.Contains(err.Error(), "the MCP server bad can't be reached") || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("it is said: %v", err)
			}
			if s.names() != "" || time.Since(began) > 20*time.Second {
				t.Errorf("%v after %s", s.names(), time.Since(began))
			}
			if !strings.Contains(s.log.String(), "can't be used") {
				t.Errorf("the log has %s", s.log)
			}
		})
	}
}

func TestWhatAServerSaysIsBounded(t *testing.T) {
	t.Parallel()
	s := playing(t, mcp.Config{Usable: func(d tool.Definition) error {
		if strings.HasSuffix(d.Name, "__odd") {
			return errors.New("its schema is odd")
		}
		return nil
	}},
		played{Name: "long", Schema: anyObject, Long: 100_000},
		played{Name: strings.Repeat("n", 60), Schema: anyObject},
		played{Name: "odd", Schema: anyObject},
		played{Name: "big", Schema: map[string]any{"type": "object", "description": strings.Repeat("d", 70_000)}},
		played{Name: "a.b", Schema: anyObject}, played{Name: "a/b", Schema: anyObject})
	if s.names() != "mcp__played__a_b mcp__played__long" {
		t.Errorf("the tools are %s", s.names())
	}
	for _, why := range []string{"more than 64 letters", "its schema is odd", "its schema has", "is taken by"} {
		if !strings.Contains(s.log.String(), why) {
			t.Errorf("the log has not %q: %s", why, s.log)
		}
	}
	got := s.call("mcp__played__long", `{}`)
	if len(got.Content) > tool.MaxContentBytes || !strings.HasPrefix(got.Content, "BEGIN") || !strings.HasSuffix(got.Content, "END") {
		t.Errorf("%d bytes", len(got.Content))
	}
}

func TestACallThatIsStopped(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "calls")
	s := playing(t, mcp.Config{}, played{Name: "wait", Schema: anyObject, Does: "hang", Log: log}, played{Name: "work", Schema: anyObject})
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		defer cancel()
		for content(t, log) == "" {
			select {
			case <-time.After(10 * time.Millisecond):
			case <-ctx.Done():
				return
			}
		}
	}()
	s.says(s.callWithin(ctx, "mcp__played__wait", `{}`), tool.StatusError, "was stopped", "unknown")
	s.says(s.call("mcp__played__work", `{}`), tool.StatusSuccess, "did {}")
	if s.started() != 1 {
		t.Errorf("it was started %d times", s.started())
	}
}

func TestHeadersGoToTheServerAlone(t *testing.T) {
	t.Parallel()
	var leaked []string
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { leaked = append(leaked, r.Header.Get("X-Key")) }))
	t.Cleanup(elsewhere.Close)
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server {
		s := sdk.NewServer(&sdk.Implementation{Name: "web", Version: "1"}, nil)
		s.AddTool(&sdk.Tool{Name: "work", InputSchema: json.RawMessage(`{"type":"object"}`)}, played{}.run)
		return s
	}, nil)
	away := false
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("X-Key") != "s3cret":
			w.WriteHeader(http.StatusUnauthorized)
		case away:
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		default:
			handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(site.Close)
	connect := func(key string) *server {
		s := &server{t: t, log: &lines{}}
		var err error
		if s.Server, err = mcp.New(mcp.Config{Name: "web", URL: site.URL, Headers: http.Header{"X-Key": {key}}}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return s
	}
	s := connect("s3cret")
	s.says(s.call("mcp__web__work", `{"n":1}`), tool.StatusSuccess, `did {"n":1}`)
	if _, err := connect("wrong").Tool("mcp__web__work"); err == nil || !strings.Contains(err.Error(), "Unauthorized") || strings.Contains(err.Error(), "wrong") {
		t.Errorf("without the right key: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	away = true
	if _, err := connect("s3cret").Tool("mcp__web__work"); err == nil || !strings.Contains(err.Error(), "redirect") || len(leaked) > 0 {
		t.Errorf("a redirect: %v, and elsewhere came %v", err, leaked)
	}
}

func TestTheServerDiesWithItsClient(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := run(t, mcp.Config{Name: "stays"}, dir, nil, "/bin/sh", "-c", "echo $$ >shell; sleep 1000 & echo $! >child; trap '' TERM; wait")
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.names()
	}()
	eventually(t, "the program to start", func() bool { return strings.HasSuffix(content(t, filepath.Join(dir, "child")), "\n") })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	<-done
	for _, file := range []string{"shell", "child"} {
		pid := strings.TrimSpace(content(t, filepath.Join(dir, file)))
		if _, err := os.Stat("/proc/" + pid); err == nil {
			t.Errorf("%s %s is still there", file, pid)
		}
	}
}
