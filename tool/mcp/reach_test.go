package mcp_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdpoint/tool/mcp"
)

// TestASilentServerIsWaitedForOnce has servers that never answer their first request: nobody waits for longer than he was
// told, nobody waits again for the same attempt, and the server has its tools once it answers.
func TestASilentServerIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	const patience = 500 * time.Millisecond
	waits := func(t *testing.T, s *mcp.Server) {
		t.Helper()
		began := time.Now()
		if _, err := s.Tools(); err == nil || !strings.Contains(err.Error(), "has not answered within 500ms (start_timeout)") {
			t.Errorf("it is said: %v", err)
		}
		first := time.Since(began)
		for range 5 {
			if _, err := s.Tool("mcp__" + strings.TrimPrefix(s.Name(), "mcp__") + "__x"); err == nil {
				t.Error("it has a tool")
			}
		}
		if all := time.Since(began); first > 10*patience || all > first+patience {
			t.Errorf("waited for %s at first, and %s in all", first, all)
		}
	}
	t.Run("a program", func(t *testing.T) {
		t.Parallel()
		self, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		file, open := filepath.Join(dir, "script.json"), filepath.Join(dir, "open")
		s := run(t, mcp.Config{Name: "played", StartTimeout: patience}, dir, []string{playVar + "=" + file, "SELF=" + self}, "/bin/sh", "-c",
			`until test -e open; do sleep 0.05; done; exec "$SELF"`)
		s.script = file
		s.plays(played{Name: "x", Schema: anyObject})
		waits(t, s.Server)
		if err := os.WriteFile(open, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(20 * time.Second); s.names() != "mcp__played__x"; {
			if time.Now().After(deadline) {
				t.Fatalf("it answers now, and has %q; the log has %s", s.names(), s.log)
			}
		}
		if s.started() != 1 {
			t.Errorf("it was started %d times", s.started())
		}
		if res := s.call("mcp__played__x", `{}`); !strings.Contains(res.Content, "did") {
			t.Errorf("a call says %+v", res)
		}
	})
	t.Run("an address", func(t *testing.T) {
		t.Parallel()
		l, err := net.Listen("tcp", "127.0.0.1:0") // it takes connections, and says nothing
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		s, err := mcp.New(mcp.Config{Name: "quiet", URL: "http://" + l.Addr().String(), StartTimeout: patience})
		if err != nil {
			t.Fatal(err)
		}
		waits(t, s)
		began := time.Now()
		if err := s.Close(); err != nil || time.Since(began) > 10*time.Second {
			t.Errorf("it was closed after %s: %v", time.Since(began), err)
		}
	})
}
