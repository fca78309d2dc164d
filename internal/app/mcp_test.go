package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
)

// playVar makes this test binary an MCP server with one tool, whose schema is in the file that it names, and which
// writes a line to a file beside it for each call.
const playVar = "HOLDPOINT_TEST_MCP"

func init() {
	file := os.Getenv(playVar)
	if file == "" {
		return
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "played", Version: "1"}, nil)
	server.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if method == "tools/list" {
				server.RemoveTools("work")
				if schema, err := os.ReadFile(file); err == nil {
					server.AddTool(&mcp.Tool{Name: "work", InputSchema: json.RawMessage(schema)}, work(file))
				}
			}
			return next(ctx, method, r)
		}
	})
	server.AddTool(&mcp.Tool{Name: "work", InputSchema: json.RawMessage(`{"type":"object"}`)}, work(file))
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	os.Exit(0)
}

func work(file string) mcp.ToolHandler {
	return func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		f, err := os.OpenFile(file+".log", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(f, "%s\n", r.Params.Arguments)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "worked on " + string(r.Params.Arguments)}}}, f.Close()
	}
}

// withServer declares an MCP server, and lets the agent use what names say of it.
func withServer(document, tools string) apptest.Setup {
	return func(o *app.Options) {
		b, err := os.ReadFile(o.Config)
		if err == nil {
			text := strings.Replace(string(b), "tools: [", "tools: ["+tools+", ", 1)
			err = os.WriteFile(o.Config, []byte(text+"---\n"+document), 0o600)
		}
		if err != nil {
			panic(err)
		}
	}
}

// filesServer is the public filesystem server over a directory, as a document.
func filesServer(t *testing.T, dir string) string {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("this test needs Node.js: install Debian's packages nodejs and npm, then run `make mcp`")
	}
	path, err := filepath.Abs("../../bin/mcp/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js")
	if err == nil {
		_, err = os.Stat(path)
	}
	if err != nil {
		t.Fatalf("this test needs the public MCP servers: run `make mcp`: %v", err)
	}
	return fmt.Sprintf("type: tool\nname: files\ncommand: %s\nargs: [%s, %s]\n", node, path, dir)
}

// serving are the processes that have this argument.
func serving(arg string) (pids []int) {
	entries, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, e := range entries {
		b, err := os.ReadFile(e)
		if err != nil || !bytes.HasPrefix(b, []byte("/")) || !bytes.HasSuffix(b, []byte("\x00"+arg+"\x00")) { // not its supervisor
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(e))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestAnAgentWithAnMCPServer(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": "what is in a", "open.txt": "what is open", "secret.txt": "never seen"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file := func(name string) string { return `{"path":"` + filepath.Join(dir, name) + `"}` }
	const read = "mcp__files__read_text_file"
	model := apptest.Turns(
		apptest.Calls(read, file("a.txt")),
		apptest.Calls(read, file("secret.txt"), "mcp__files__write_file", `{"path":"`+dir+`/b.txt","content":"x"}`),
		apptest.Calls(read, `{"path":7}`),
		apptest.Calls("bash", apptest.Bash("true")),
		apptest.Calls(read, file("open.txt")))
	h := apptest.Start(t, apptest.WithModel(model), apptest.WithRules(
		`{match: "mcp__files__write_file", decision: deny}`,
		`{match: "`+read+`(path:*/secret*)", decision: deny}`,
		`{match: "`+read+`", where: [{name: path, glob: "*/open*"}], decision: allow}`), withServer(filesServer(t, dir), "mcp__files"))
	run := h.Begin("go")
	ask := h.Waits(run.RunID, 1)[0]
	if ask.ToolName != read || !strings.Contains(string(ask.ToolArgs), "a.txt") || ask.Risk != "high" {
		t.Errorf("it asks %+v", ask)
	}
	h.Answer(ask.ID, map[string]any{"action": "approve"})
	h.Eventually("the shell to be asked about", func() bool { p := h.Pending(run.RunID); return len(p) == 1 && p[0].ToolName == "bash" })
	pids := serving(dir)
	if len(pids) != 1 {
		t.Fatalf("the servers are %v", pids)
	}
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.Eventually("the server to be gone", func() bool { return len(serving(dir)) == 0 })
	h.Answer(h.Waits(run.RunID, 1)[0].ID, map[string]any{"action": "approve"})
	completes(h, run.RunID)
	results := model.ToolResults()
	for i, want := range []string{"what is in a", "mcp__files__read_text_file(path:*/secret*)", "mcp__files__write_file", "args.path", "", "what is open"} {
		if i >= len(results) || !strings.Contains(results[i].Content, want) {
			t.Fatalf("result %d has not %q: %+v", i, want, results)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "b.txt")); err == nil {
		t.Error("what was denied was written")
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	if left := serving(dir); len(left) > 0 {
		t.Errorf("servers outlive their worker: %v", left)
	}
}

// TestAServersToolChangesWhileACallOfItIsParked changes what a real server process says of its tool before the
// approval is carried out.
func TestAServersToolChangesWhileACallOfItIsParked(t *testing.T) {
	t.Parallel()
	const first = `{"type":"object","properties":{"n":{"type":"integer"}}}`
	for name, tc := range map[string]struct {
		becomes string // "" is gone
		asks    string // why it is asked again; "" where it is not
		then    map[string]any
		did     string
		told    string
	}{
		"unchanged":                {becomes: first, did: `{"n":1}`, told: "worked on"},
		"with another description": {becomes: `{"properties":{"n":{"type":"integer"}},"type":"object"}`, did: `{"n":1}`, told: "worked on"},
		"with a new optional argument": {becomes: `{"type":"object","properties":{"n":{"type":"integer"},"force":{"type":"boolean"}}}`,
			asks: "the tool has changed since it was shown", then: map[string]any{"action": "approve"}, did: `{"n":1}`, told: "worked on"},
		"with a new required argument": {becomes: `{"type":"object","properties":{"n":{"type":"integer"},"where":{"type":"string"}},"required":["where"]}`,
			asks: "does not take these arguments any more", then: map[string]any{"action": "modify_args", "args": map[string]any{"n": 1, "where": "here"}},
			did: `"where":"here"`, told: "worked on"},
		"gone": {told: "The MCP server played has no tool mcp__played__work (any more). The call was not made."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			self, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "schema.json")
			if err := os.WriteFile(file, []byte(first), 0o600); err != nil {
				t.Fatal(err)
			}
			model := apptest.Turns(apptest.Calls("mcp__played__work", `{"n":1}`))
			h := apptest.Start(t, apptest.WithModel(model),
				withServer("type: tool\nname: played\ncommand: "+self+"\nenv: {"+playVar+": "+file+"}\n", "mcp__played__work"))
			run := h.Begin("go")
			asked := h.Waits(run.RunID, 1)[0].ID
			if tc.becomes == "" {
				err = os.Remove(file)
			} else {
				err = os.WriteFile(file, []byte(tc.becomes), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			h.StopWorker() // and its servers
			if err := h.StartWorker(); err != nil {
				t.Fatal(err)
			}
			h.Answer(asked, map[string]any{"action": "approve"})
			if tc.asks != "" {
				h.Eventually("it to be asked again", func() bool { p := h.Pending(run.RunID); return len(p) == 1 && p[0].ID != asked })
				again := h.Waits(run.RunID, 1)[0]
				if !strings.Contains(again.Message, tc.asks) {
					t.Errorf("asked again with %q", again.Message)
				}
				h.Answer(again.ID, tc.then)
			}
			completes(h, run.RunID)
			did, _ := os.ReadFile(file + ".log") // not there: nothing was done
			if n := strings.Count(string(did), "\n"); n > 1 || !strings.Contains(string(did), tc.did) || tc.did == "" && n > 0 {
				t.Errorf("the server did %q", did)
			}
			if told := model.ToolResults(); len(told) != 1 || !strings.Contains(told[0].Content, tc.told) {
				t.Errorf("the model was told %+v", told)
			}
		})
	}
}

// TestAServersToolChangesUnderARunningWorker changes the tool of a server that goes on running.
func TestAServersToolChangesUnderARunningWorker(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "schema.json")
	if err := os.WriteFile(file, []byte(`{"type":"object"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	model := apptest.Turns(apptest.Calls("mcp__played__work", `{"n":1}`, "mcp__played__work", `{"n":2}`))
	h := apptest.Start(t, apptest.WithModel(model),
		withServer("type: tool\nname: played\ncommand: "+self+"\nenv: {"+playVar+": "+file+"}\n", "mcp__played"))
	run := h.Begin("go")
	both := h.Waits(run.RunID, 2)
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	for _, one := range both {
		h.Answer(one.ID, map[string]any{"action": "approve"})
	}
	completes(h, run.RunID)
	for _, told := range model.ToolResults() {
		if !strings.Contains(told.Content, "has no tool mcp__played__work") {
			t.Errorf("the model was told %q", told.Content)
		}
	}
	if did, err := os.ReadFile(file + ".log"); err == nil {
		t.Errorf("the server did %q", did)
	}
}

// TestABrokenServerHoldsNobodyUp declares a server that can't be started beside an agent that works without it.
func TestABrokenServerHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	model := apptest.Turns(apptest.Calls("mcp__broken__x", `{}`, "bash", apptest.Bash("true")))
	h := apptest.Start(t, apptest.WithModel(model), apptest.WithRules(`{match: "bash(true)", decision: allow}`),
		withServer("type: tool\nname: broken\ncommand: /bin/sh\nargs: [-c, \"echo no licence >&2; exit 1\"]\n", "mcp__broken"))
	run := h.Begin("go")
	completes(h, run.RunID)
	results := model.ToolResults()
	if len(results) != 2 || !strings.Contains(results[0].Content, "the MCP server broken can't be reached") || !strings.Contains(results[0].Content, "no licence") {
		t.Errorf("the model was told %+v", results)
	}
	log, err := os.ReadFile(filepath.Join(h.Options.Data, "private", "holdpoint.log"))
	if err != nil || !bytes.Contains(log, []byte("an MCP server can't be used")) {
		t.Errorf("the log does not say so: %v", err)
	}
}

// TestASilentServerHoldsNobodyUp declares a server that starts and never says a word.
func TestASilentServerHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	model := apptest.Turns(apptest.Calls("mcp__silent__x", `{}`, "bash", apptest.Bash("true")), apptest.Calls("bash", apptest.Bash("true")))
	h := apptest.Start(t, apptest.WithModel(model), apptest.WithRules(`{match: "bash(true)", decision: allow}`),
		withServer("type: tool\nname: silent\ncommand: sleep\nargs: [\"600\"]\nstart_timeout: 1s\n", "mcp__silent"))
	began := time.Now()
	run := h.Begin("go")
	completes(h, run.RunID)
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("the run took %s", took)
	}
	results := model.ToolResults()
	if len(results) != 3 || !strings.Contains(results[0].Content, "can't be used now: the MCP server silent can't be reached: it has not answered within 1s") {
		t.Errorf("the model was told %+v", results)
	}
	said := eventsOf[event.ErrorData](h, run.RunID, event.Error)
	if len(said) != 1 || said[0].Code != "tools_unavailable" || !strings.Contains(said[0].Message, "mcp__silent") {
		t.Errorf("the record says %+v", said)
	}
}

func TestServersAreShownWithoutSecrets(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "c.yaml")
	if err := os.WriteFile(path, []byte("type: tool\nname: files\ncommand: /no/such\nenv: {TOKEN: s3cret}\nrisk: low\n---\ntype: tool\nname: web\nurl: http://h\nheaders: {A: s3cret}\ndefault_policy: deny\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := app.CheckConfig(path, nil) // starts nothing
	if err != nil {
		t.Fatal(err)
	}
	yaml, err := c.Shown().YAML()
	if err != nil || bytes.Contains(yaml, []byte("s3cret")) || !bytes.Contains(yaml, []byte("command: /no/such")) {
		t.Errorf("%v: %s", err, yaml)
	}
	all := c.Summaries()
	if len(all) != 2 || !strings.Contains(all[0].Text, "MCP server, its tools are mcp__files__…, risk low, asks") || !strings.Contains(all[1].Text, "denied") {
		t.Errorf("%+v", all)
	}
}

// everythingServer is the public server that has a bit of everything, as a document.
func everythingServer(t *testing.T) string {
	t.Helper()
	doc := filesServer(t, "stdio")
	return strings.NewReplacer("name: files", "name: all", "server-filesystem", "server-everything").Replace(doc)
}

// TestAServerAsksInTheMiddleOfACall has a real server ask people while its call runs: it gets what they say, and an abort does
// not wait for them.
func TestAServerAsksInTheMiddleOfACall(t *testing.T) {
	t.Parallel()
	const asks = "mcp__all__trigger-elicitation-request"
	turn := apptest.Calls(asks, `{}`)
	model := apptest.Turns(turn, apptest.Calls(asks, `{"n":"two"}`), apptest.Calls(asks, `{"n":"three"}`))
	h := apptest.Start(t, apptest.WithModel(model), apptest.WithRules(`{match: `+asks+`, decision: allow}`), withServer(everythingServer(t), "mcp__all"))
	run := h.Begin("go")
	ask := h.Waits(run.RunID, 1)[0]
	if ask.Type != interaction.TypeCombined || !ask.Live || ask.ToolName != asks || ask.ExpiresAt.IsZero() || !strings.Contains(ask.Title, "The MCP server all asks") {
		t.Fatalf("it asks %+v", ask)
	}
	answer := map[string]any{"action": "answer"}
	var parts []any
	for i := range ask.Interactions {
		parts = append(parts, map[string]any{"action": "skip"})
		if i == 0 {
			parts[0] = map[string]any{"text": "Ada"}
		}
	}
	answer["responses"] = parts[1:]
	if status, body := h.Respond(ask.ID, answer); status != 422 && status != 400 || !strings.Contains(string(body), "answer each, in order") {
		t.Errorf("too few answers: %d %s", status, body)
	}
	answer["responses"] = parts
	h.Answer(ask.ID, answer)
	h.Eventually("the second question", func() bool { p := h.Pending(run.RunID); return len(p) == 1 && p[0].ID != ask.ID && p[0].Live })
	h.Answer(h.Waits(run.RunID, 1)[0].ID, map[string]any{"action": "reject", "feedback": "not ours"})
	h.Eventually("the third question", func() bool { return len(model.ToolResults()) == 2 && len(h.Pending(run.RunID)) == 1 })
	if status, body := h.HTTP("POST", "/v1/runs/"+string(run.RunID)+"/control", map[string]any{"action": "abort_run"}); status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	if v := h.Ended(run.RunID); v.Status != "aborted" {
		t.Errorf("the run ended as %+v", v)
	}
	results := model.ToolResults()
	for i, want := range []string{"- Name: Ada", "User declined"} {
		if !strings.Contains(results[i].Content, want) {
			t.Errorf("result %d has not %q: %s", i, want, results[i].Content)
		}
	}
	if !strings.Contains(results[1].Content, "declined it: not ours") {
		t.Errorf("%+v", results)
	}
	statuses := map[interaction.Status]int{}
	for _, d := range eventsOf[event.InteractionResponseData](h, run.RunID, event.InteractionResponse) {
		statuses[d.Status]++
	}
	if statuses[interaction.StatusAnswered] != 2 || statuses[interaction.StatusCancelled] != 1 {
		t.Errorf("the record has %v", statuses)
	}
}
