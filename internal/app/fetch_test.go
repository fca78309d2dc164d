package app_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"

	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
)

// site is a local web server that keeps the paths that were asked for. A path below /to/ leads to the rest of it.
type site struct {
	*httptest.Server
	mu   sync.Mutex
	came []string
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.came = append(s.came, r.Method+" "+r.URL.Path)
		s.mu.Unlock()
		if _, rest, ok := strings.Cut(r.URL.Path, "/to/"); ok {
			w.Header().Set("Location", "/"+rest)
			w.WriteHeader(http.StatusTemporaryRedirect)
			return
		}
		_, _ = io.WriteString(w, "this is "+r.URL.Path)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) requests() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.came, ", ")
}

// withFetch lets the agent use http_fetch.
func withFetch(o *app.Options) {
	b, err := os.ReadFile(o.Config)
	if err == nil {
		err = os.WriteFile(o.Config, []byte(strings.Replace(string(b), "tools: [", "tools: [http_fetch, ", 1)), 0o600)
	}
	if err != nil {
		panic(err)
	}
}

func fetchOf(url string) string { return `{"url":"` + url + `"}` }

func TestRedirectsOfAFetchAreHeldToTheRules(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	other := newSite(t)
	model := apptest.Turns(
		apptest.Calls("http_fetch", fetchOf(s.URL+"/open/to/open/a")),
		apptest.Calls("http_fetch", fetchOf(s.URL+"/open/to/denied/b")),
		apptest.Calls("http_fetch", fetchOf(s.URL+"/open/to/asked/c")),
		apptest.Calls("http_fetch", fetchOf(s.URL+"/open/to/nowhere/d")),
		apptest.Calls("http_fetch", fetchOf(other.URL+"/")),
		apptest.Calls("http_fetch", fetchOf(strings.Replace(s.URL, "127.0.0.1", "[::ffff:127.0.0.1]", 1)+"/denied/e")))
	h := apptest.Start(t, apptest.WithModel(model), apptest.WithRules(
		`{match: "http_fetch(`+s.URL+`/open/**)", decision: allow}`,
		`{match: "http_fetch(`+s.URL+`/denied/**)", decision: deny}`,
		`{match: "http_fetch(`+s.URL+`/asked/**)", decision: ask}`), withFetch)
	run := h.Begin("go")
	completes(h, run.RunID)
	results := model.ToolResults()
	if len(results) != 6 {
		t.Fatalf("the model got %+v", results)
	}
	for i, words := range [][]string{
		{"[307: GET " + s.URL + "/open/to/open/a leads to " + s.URL + "/open/a]", "200 OK", "this is /open/a"},
		{"The redirect was not followed: A deny rule matches", s.URL + "/denied/b"},
		{"The redirect was not followed: An ask rule matches", s.URL + "/asked/c"},
		{"The redirect was not followed: No rule allows it", s.URL + "/nowhere/d"},
		{"no rule names it"},
		{"deny rule matches"},
	} {
		if !contains(results[i], words...) {
			t.Errorf("result %d is %q, want %q in it", i+1, results[i].Content, words)
		}
	}
	if want := "GET /open/to/open/a, GET /open/a, GET /open/to/denied/b, GET /open/to/asked/c, GET /open/to/nowhere/d"; s.requests() != want {
		t.Errorf("requested were %s", s.requests())
	}
	if other.requests() != "" {
		t.Errorf("requested were %s", other.requests())
	}
}

func TestAFetchThatIsAskedRunsOnceItIsApproved(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	model := apptest.Turns(
		apptest.Calls("http_fetch", `{"url":"`+s.URL+`/asked","method":"POST","body":"{}"}`),
		apptest.Calls("http_fetch", `{"url":"`+s.URL+`/host","headers":{"Host":"other.example"}}`),
		apptest.Calls("http_fetch", `{"url":"`+s.URL+`/x","method":"get"}`))
	h := apptest.Start(t, apptest.WithModel(model), apptest.WithRules(`{match: "http_fetch(`+s.URL+`/**)", decision: allow}`), withFetch)
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 1)[0]
	if !strings.Contains(asked.Details, "POST "+s.URL+"/asked\n\n{}") {
		t.Errorf("the reviewer sees %q", asked.Details)
	}
	if s.requests() != "" {
		t.Fatalf("it was requested before it was approved: %s", s.requests())
	}
	h.Answer(asked.ID, map[string]any{"action": "approve"})
	second := following(h, run, asked.ID)
	if !strings.Contains(second.Reason, `header "Host" can send the request elsewhere`) || !strings.Contains(second.Details, "Host: other.example") {
		t.Errorf("the reviewer sees %q: %q", second.Reason, second.Details)
	}
	h.Answer(second.ID, map[string]any{"action": "approve"})
	completes(h, run.RunID)
	if s.requests() != "POST /asked, GET /host" {
		t.Errorf("requested were %s", s.requests())
	}
	if got := model.ToolResults(); len(got) != 3 || !contains(got[0], "this is /asked") || !contains(got[2], "args.method") {
		t.Errorf("the model got %+v", got)
	}
}

func TestTheExamplesOfFetchAreAConfiguration(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/http_fetch.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```yaml\n")[1:]
	for i, b := range blocks {
		blocks[i], _, _ = strings.Cut(b, "```")
	}
	o := apptest.Options(t, t.TempDir())
	o.Address = apptest.Server(t)
	own, err := os.ReadFile(o.Config)
	if err != nil {
		t.Fatal(err)
	}
	doc := strings.Replace(strings.Join(blocks, "---\n"), "# proxy:", "proxy:", 1)
	if err := os.WriteFile(o.Config, []byte(string(own)+"---\n"+doc), 0o600); err != nil {
		t.Fatal(err)
	}
	if len(blocks) != 2 {
		t.Errorf("there are %d examples", len(blocks))
	}
	apptest.Run(t, o)
}

func TestSettingsOfFetchAreReadOrRefused(t *testing.T) {
	t.Parallel()
	for params, want := range map[string]string{
		"{private_hosts: [10.0.0.1]}":   `params.private_hosts[0]: "10.0.0.1" is not the name of a host`,
		"{private_hosts: wiki.example}": "params.private_hosts: must be a list",
		"{proxy: [x]}":                  "params.proxy: must be the URL of a proxy",
		"{proxy: proxy}":                "params.proxy: is not the URL of a proxy",
		"{redirects: 7}":                "params.redirects: is no setting of it",
	} {
		o := apptest.Options(t, t.TempDir())
		b, err := os.ReadFile(o.Config)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(o.Config, append(b, "---\ntype: tool\nname: http_fetch\nparams: "+params+"\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
		if a, err := app.Dev(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", params, err, want)
			if a != nil {
				_ = a.Close()
			}
		}
	}
}
