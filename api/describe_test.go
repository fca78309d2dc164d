package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"

	"holdpoint/api"
)

func TestEveryRouteThatIsServedIsDescribed(t *testing.T) {
	t.Parallel()
	b := matrixBridge(t)
	known := map[string]bool{}
	for _, o := range b.described().Operations() {
		known[o.Method+" "+o.Path] = true
	}
	for _, pattern := range b.api.Routes() {
		if !known[pattern] && !strings.Contains(pattern, " /openapi") { // the description itself
			t.Errorf("%s is served, and the description has it not", pattern)
		}
		delete(known, pattern)
	}
	for pattern := range known {
		t.Errorf("%s is described, and not served", pattern)
	}
}

// volatile is what an example has differently each time, and what stands for it.
var volatile = []struct {
	what *regexp.Regexp
	by   string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "8a1f0c2e-3b5d-4e6f-8a9b-0c1d2e3f4a5b"},
	{regexp.MustCompile(`[0-9a-f]{64}`), strings.Repeat("0", 64)},
	{regexp.MustCompile(`("timestamp": ?)"20[0-9-]+T[0-9:]+"`), `$1"2026-01-31T12:00:00"`},
	{regexp.MustCompile(`(?m)^: .*\n\n`), ""}, // a stream's comments
}

// maxExample bounds an example.
const maxExample = 8 << 10

// recordExamples makes every call of the description as each of the matrix's people, and keeps what was answered.
func recordExamples(t *testing.T) map[string]api.Recorded {
	t.Helper()
	out := map[string]api.Recorded{}
	for _, o := range matrixBridge(t).described().Operations() {
		d := matrix[o.ID]
		r := recording{api.Recorded{Response: map[string]map[string]json.RawMessage{}}}
		if d.body != "" {
			r.Request = json.RawMessage(d.body)
		}
		for _, who := range []string{"uma", "rex", "ada", "nil"} {
			r.keep(t, matrixBridge(t).do(who, o.Method, filled(o.Path, named)+d.query, d.body))
		}
		for _, v := range variants[o.ID] {
			b := matrixBridge(t)
			if v.noWorker {
				b.temporal.onUp = func(client.UpdateWorkflowOptions) (any, error) { return nil, errNoWorker }
			}
			if v.twice {
				b.do(v.who, o.Method, filled(o.Path, named), d.body, v.header...)
			}
			r.keep(t, b.do(v.who, o.Method, filled(o.Path, named)+v.query, d.body, v.header...))
		}
		out[o.ID] = r.Recorded
	}
	return out
}

// variants are requests whose answers no other call of the matrix gets.
var variants = map[string][]struct {
	who, query      string
	header          []string
	noWorker, twice bool
}{
	"control-run":     {{who: "uma", noWorker: true}},
	"send-message":    {{who: "uma", noWorker: true}},
	"cancel-approval": {{who: "uma", noWorker: true}},
	"ask-approval":    {{who: "uma", header: []string{"Idempotency-Key", "deploy-7"}, twice: true}},
	"audit":           {{who: "ada", query: "?format=jsonl"}, {who: "ada", query: "?format=csv"}},
	"respond":         {{who: "rex", noWorker: true}, {who: "rex", header: []string{"Accept", "text/event-stream"}}},
}

// recording is an operation's examples while they are recorded.
type recording struct{ api.Recorded }

// keep keeps the first answer of each status and media type.
func (r recording) keep(t *testing.T, a answer) {
	t.Helper()
	media, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	status := fmt.Sprint(a.status)
	if r.Response[status] == nil {
		r.Response[status] = map[string]json.RawMessage{}
	}
	if _, known := r.Response[status][media]; !known && a.raw != "" && len(a.raw) <= maxExample {
		r.Response[status][media] = recordedBody(t, media, a.raw)
	}
}

func recordedBody(t *testing.T, media, raw string) json.RawMessage {
	t.Helper()
	for _, v := range volatile {
		raw = v.what.ReplaceAllString(raw, v.by)
	}
	if strings.HasSuffix(media, "json") {
		return json.RawMessage(strings.TrimSpace(raw))
	}
	text, err := json.Marshal(raw)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestExamplesAreWhatTheBridgeAnswers: UPDATE_GOLDENS=1 records them anew.
func TestExamplesAreWhatTheBridgeAnswers(t *testing.T) {
	t.Parallel()
	for id, r := range recordExamples(t) {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetIndent("", " ")
		e.SetEscapeHTML(false)
		if err := e.Encode(r); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join("examples", id+".json")
		if os.Getenv("UPDATE_GOLDENS") != "" {
			if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if want, err := os.ReadFile(file); err != nil || !bytes.Equal(want, b.Bytes()) {
			t.Errorf("%s is no longer what the bridge answers: look at the difference after UPDATE_GOLDENS=1 go test ./api -run Examples (%v)\n%s",
				file, err, firstDifference(string(want), b.String()))
		}
	}
	if os.Getenv("UPDATE_GOLDENS") != "" {
		return
	}
	if err := matrixBridge(t).described().CheckExamples(); err != nil {
		t.Error(err)
	}
}

func firstDifference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for n := range min(len(w), len(g)) {
		if w[n] != g[n] {
			return fmt.Sprintf("line %d: %s\nbut now: %s", n+1, w[n], g[n])
		}
	}
	return fmt.Sprintf("%d lines, now %d", len(w), len(g))
}

// TestTheTypesOfProblemsAreStable: clients branch on them. One may be added here, never changed or taken away.
func TestTheTypesOfProblemsAreStable(t *testing.T) {
	t.Parallel()
	var got []string
	for _, k := range api.Problems {
		got = append(got, fmt.Sprint(k.Code, k.Status))
		if k.Means == "" {
			t.Errorf("%s means nothing", k.Code)
		}
	}
	want := strings.Fields(`already_decided[409] digest_mismatch[409] expired[410] forbidden[403] forbidden_host[403] forbidden_origin[403] forged[403]
		id_reused[409] internal[500] invalid[400,409,422] invalid_args[422] key_reused[422] media_type[415] method[405] not_acceptable[406] not_entitled[403]
		not_found[404] not_ready[503] not_signed[403] rule_in_the_way[409] run_ended[409] session_busy[409] too_large[413] too_many_requests[429]
		too_many_streams[503] unauthenticated[401] unavailable[503] unknown_agent[422] upgrade_required[426] wrong_run[409]`)
	slices.Sort(got)
	if text := strings.ReplaceAll(strings.Join(got, "\n"), " ", ","); text != strings.Join(want, "\n") {
		t.Errorf("the types are\n%s", text)
	}
	text, err := os.ReadFile("../docs/http.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range api.Problems {
		var statuses []string
		for _, s := range k.Status {
			statuses = append(statuses, fmt.Sprint(s))
		}
		if row := fmt.Sprintf("| `%s` | %s | %s |", k.Code, strings.Join(statuses, ", "), k.Means); !strings.Contains(string(text), row+"\n") {
			t.Errorf("docs/http.md lacks the row\n%s", row)
		}
	}
}

func TestPeopleReadTheDescriptionOnAPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.do("", "GET", "/docs", "")
	var doc struct {
		Paths map[string]map[string]struct{ OperationID string }
	}
	if err := json.Unmarshal([]byte(b.do("", "GET", "/openapi.json", "").raw), &doc); err != nil || len(doc.Paths) < 10 {
		t.Fatalf("%d paths, %v", len(doc.Paths), err)
	}
	for path, calls := range doc.Paths {
		for _, call := range calls {
			if !strings.Contains(a.raw, `<details id="`+call.OperationID+`">`) || !strings.Contains(a.raw, "<code>"+path+"</code>") {
				t.Errorf("the page lacks %s %s", call.OperationID, path)
			}
		}
	}
	if policy := a.header.Get("Content-Security-Policy"); !strings.Contains(policy, "style-src 'sha256-") || strings.Contains(policy, "script") {
		t.Errorf("its policy: %s", policy)
	}
	for _, loads := range []string{"<script", " src=", "<link", "@import"} {
		if strings.Contains(a.raw, loads) {
			t.Errorf("the page has %s", loads)
		}
	}
	if !strings.Contains(a.raw, "<pre tabindex") {
		t.Error("no example is shown")
	}
}
