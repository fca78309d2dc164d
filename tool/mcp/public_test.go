package mcp_test

import (
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"holdpoint/tool"
	"holdpoint/tool/mcp"
)

func TestTheFilesystemServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("first line\nsecond line\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := run(t, mcp.Config{Name: "files", Risk: "medium"}, dir, nil, append(public(t, "server-filesystem"), dir)...)
	for _, want := range []string{"mcp__files__read_text_file", "mcp__files__write_file", "mcp__files__list_directory"} {
		if !strings.Contains(s.names(), want) {
			t.Errorf("the tools are %s", s.names())
		}
	}
	tools, _ := s.Tools()
	for _, one := range tools { // whatever it says of being read-only
		if d := one.Definition(); d.Consent != tool.ConsentAlways || d.Server != "files" || d.Risk != "medium" || d.Idempotent || d.Resource != tool.ResourceArgs {
			t.Errorf("%+v", d)
		}
	}
	s.says(s.call("mcp__files__read_text_file", `{"path":"`+dir+`/a.txt"}`), tool.StatusSuccess, "second line")
	s.says(s.call("mcp__files__write_file", `{"path":"`+dir+`/b.txt","content":"new"}`), tool.StatusSuccess, "b.txt")
	if got := content(t, filepath.Join(dir, "b.txt")); got != "new" {
		t.Errorf("b.txt has %q", got)
	}
	s.says(s.call("mcp__files__read_text_file", `{"path":"/etc/hostname"}`), tool.StatusError, "denied")
	s.says(s.call("mcp__files__read_text_file", `{"path":7}`), tool.StatusError, "path")
	s.kill()
	s.says(s.call("mcp__files__read_text_file", `{"path":"`+dir+`/b.txt"}`), tool.StatusSuccess, "new")
	if s.started() != 2 {
		t.Errorf("it was started %d times", s.started())
	}
}

func TestTheEverythingServer(t *testing.T) {
	t.Parallel()
	s := run(t, mcp.Config{Name: "all"}, t.TempDir(), []string{"GIVEN=yes"}, append(public(t, "server-everything"), "stdio")...)
	s.says(s.call("mcp__all__echo", `{"message":"hello"}`), tool.StatusSuccess, "hello")
	s.says(s.call("mcp__all__get-sum", `{"a":2,"b":40}`), tool.StatusSuccess, "42")
	s.says(s.call("mcp__all__get-tiny-image", `{}`), tool.StatusSuccess, "[an image, image/png, ")
	s.says(s.call("mcp__all__get-structured-content", `{"location":"New York"}`), tool.StatusSuccess, "temperature")
	s.says(s.call("mcp__all__get-resource-links", `{"count":2}`), tool.StatusSuccess, "[a link to ")
	s.says(s.call("mcp__all__trigger-elicitation-request", `{}`), tool.StatusSuccess, "declined", "[While the call ran, its MCP server asked: ")
	env := s.call("mcp__all__get-env", `{}`)
	s.says(env, tool.StatusSuccess, `"GIVEN": "yes"`)
	if strings.Contains(env.Content, "HOLDPOINT_TEST_SECRET") {
		t.Errorf("the server has the worker's environment: %s", env.Content)
	}
}

// TestTheEverythingServerOverHTTP talks to it by streamable HTTP, kills it, and starts it again.
func TestTheEverythingServerOverHTTP(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	url := "http://127.0.0.1:" + strconv.Itoa(port) + "/mcp"
	start := func() (stop func()) {
		argv := append(public(t, "server-everything"), "streamableHttp")
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "PORT="+strconv.Itoa(port))
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the server to listen", func() bool {
			resp, err := http.Get(url)
			if err == nil {
				_ = resp.Body.Close()
			}
			return err == nil
		})
		return func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }
	}
	stop := start()
	s := &server{t: t, log: &lines{}}
	if s.Server, err = mcp.New(mcp.Config{Name: "all", URL: url}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	s.says(s.call("mcp__all__echo", `{"message":"hello"}`), tool.StatusSuccess, "hello")
	stop()
	s.says(s.call("mcp__all__echo", `{"message":"anyone"}`), tool.StatusError, "can't be reached", "was not made")
	stop = start()
	defer stop()
	s.says(s.call("mcp__all__echo", `{"message":"again"}`), tool.StatusSuccess, "again")
}
