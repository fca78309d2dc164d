package app_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
)

// A label is what everybody reads who may scrape, and each value of one costs memory for good: none is of a sender's making.
func TestNoMetricHasASecret(t *testing.T) {
	t.Parallel()
	const planted = "ghp_aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3"
	h := apptest.Start(t, withEffect(apptest.Effect{}), func(o *app.Options) { o.Metrics = "127.0.0.1:0" }, apptest.WithModel(apptest.Turns(
		apptest.Calls("effect", `{"n":1,"password":"`+planted+`"}`), apptest.Calls(planted, `{}`))))
	run := h.Begin("go with " + planted)
	asked := h.Waits(run.RunID, 1)[0]
	signalRaw(h, run.Workflow, planted, "x")
	h.Signal(run.Workflow, map[string]any{"request_id": planted, "action": planted})
	h.Signal(run.Workflow, map[string]any{"request_id": asked.ID, "action": "approve", "note": planted, "id": planted})
	h.Ended(run.RunID)
	for name, change := range map[string]func(r *http.Request){
		"host":       func(r *http.Request) { r.Host = planted + ".example.com" },
		"method":     func(r *http.Request) { r.Method = planted },
		"path":       func(r *http.Request) { r.URL.Path = "/v1/" + planted },
		"query":      func(r *http.Request) { r.URL.RawQuery = "token=" + planted },
		"user agent": func(r *http.Request) { r.Header.Set("User-Agent", planted) },
		"token":      func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+planted) },
		"forwarded": func(r *http.Request) {
			r.Header.Set("X-Forwarded-Proto", planted)
			r.Header.Set("X-Forwarded-For", planted)
		},
	} {
		r, err := http.NewRequest(http.MethodGet, h.URL()+"/v1/runs", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		change(r)
		resp, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_ = resp.Body.Close()
	}
	wantMetric(t, h, `holdpoint_tool_duration_seconds_count\{[^}]*tool="effect"\} 1`)
	wantMetric(t, h, `http_server_request_duration_seconds_count\{[^}]*http_response_status_code="403"`)
	resp, err := http.Get("http://" + h.Metrics() + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(strings.ToLower(line), strings.ToLower(planted)) || strings.Contains(line, h.Token()) {
			t.Errorf("a metric has a secret: %s", line)
		}
	}
	for _, label := range regexp.MustCompile(`(?m)^http_server_[a-z_]+\{([^}]*)\}`).FindAllStringSubmatch(string(text), -1) {
		if strings.Contains(label[1], "server_address") || strings.Contains(label[1], "server_port") {
			t.Errorf("a label is of a sender's making: %s", label[1])
		}
	}
}
