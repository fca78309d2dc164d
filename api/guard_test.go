package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"holdpoint/api"
)

func TestWithoutCredentialsNothingButHealthAndDescription(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, path := range []string{"/v1/runs", "/v1/runs/r1", "/v1/runs/r1/events", "/v1/interactions", "/v1/agents", "/nowhere"} {
		for _, who := range []string{"", "mallory"} {
			a := b.do(who, "GET", path, "")
			wantProblem(t, a, 401, "unauthenticated")
			if !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%s: no WWW-Authenticate", path)
			}
		}
	}
	for _, path := range []string{"/healthz", "/readyz", "/openapi.json", "/docs"} {
		if a := b.do("", "GET", path, ""); a.status != 200 {
			t.Errorf("%s: %d %s", path, a.status, a.raw)
		}
	}
	wantProblem(t, b.do("broken", "GET", "/v1/runs", ""), 503, "unavailable")
}

func TestPagesOfOtherSitesAreKeptOut(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1")
	const body = `{"action":"approve"}`
	for _, host := range []string{"evil.example", "localhost.evil.example", "127.0.0.1.evil.example:80", "10.0.0.1", "0.0.0.0"} {
		wantProblem(t, b.do("rex", "POST", respondPath, body, "Host", host), 403, "forbidden_host")
		wantProblem(t, b.do("rex", "GET", "/v1/interactions", "", "Host", host), 403, "forbidden_host")
	}
	for _, h := range [][]string{{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}} {
		wantProblem(t, b.do("rex", "POST", respondPath, body, h...), 403, "forbidden_origin")
	}
	for _, ct := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""} {
		wantProblem(t, b.do("rex", "POST", respondPath, body, "Content-Type", ct), 415, "media_type")
	}
	if len(b.temporal.updates) > 0 {
		t.Error("something was sent")
	}
	for _, h := range [][]string{nil, {"Host", "localhost:1"}, {"Host", "[::1]:1"}, {"Origin", b.url}, {"Sec-Fetch-Site", "same-origin"}, {"Content-Type", "application/json; charset=utf-8"}} {
		if a := b.do("rex", "POST", respondPath, body, h...); a.status != 200 {
			t.Errorf("%v: %d %s", h, a.status, a.raw)
		}
	}
	open := setup(t, func(c *api.Config) { c.Loopback = false })
	if a := open.do("rex", "GET", "/v1/interactions", "", "Host", "holdpoint.example"); a.status != 200 {
		t.Errorf("a bridge beyond loopback: %d %s", a.status, a.raw)
	}
}

func TestEveryErrorIsAProblem(t *testing.T) {
	t.Parallel()
	b := setup(t)
	wantProblem(t, b.do("ada", "GET", "/v2/runs", ""), 404, "not_found")
	a := b.do("ada", "DELETE", "/v1/runs", "")
	wantProblem(t, a, 405, "method")
	if !strings.Contains(a.header.Get("Allow"), "POST") {
		t.Errorf("Allow: %q", a.header.Get("Allow"))
	}
	if a := b.do("ada", "GET", "/v1/runs", ""); a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", a.header)
	}
}

type panicking struct{}

func (panicking) Agents() []api.AgentInfo { panic("a fault") }

func TestAFaultInOneRequestStaysInIt(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *api.Config) { c.Agents = panicking{} })
	wantProblem(t, b.do("uma", "GET", "/v1/agents", ""), 500, "internal")
	if a := b.do("", "GET", "/healthz", ""); a.status != 200 {
		t.Error(a.raw)
	}
}

func TestReadyNamesWhatIsMissing(t *testing.T) {
	t.Parallel()
	fail := func(context.Context) error { return errors.New("secret address 10.0.0.1") }
	b := setup(t, func(c *api.Config) {
		c.Checks = []api.Check{{Name: "store", Run: func(context.Context) error { return nil }}, {Name: "worker", Missing: "no worker polls", Run: fail}}
	})
	a := b.do("", "GET", "/readyz", "")
	wantProblem(t, a, 503, "not_ready")
	if a.body["detail"] != "missing: worker" || !strings.Contains(a.raw, "no worker polls") || strings.Contains(a.raw, "10.0.0.1") {
		t.Error(a.raw)
	}
	b = setup(t)
	if a := b.do("", "GET", "/readyz", ""); a.status != 200 || a.body["status"] != "ready" {
		t.Error(a.raw)
	}
	b.temporal.health = errors.New("down")
	if a := b.do("", "GET", "/readyz", ""); a.body["detail"] != "missing: temporal" {
		t.Error(a.raw)
	}
}

func TestTheDescriptionCoversEveryCall(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.do("", "GET", "/openapi.json", "")
	var doc struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Responses   map[string]struct{ Content map[string]any }
			RequestBody *struct {
				Content map[string]struct{ Schema map[string]any }
			}
		}
		Components struct {
			Schemas map[string]struct{ Properties map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(a.raw), &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1") {
		t.Errorf("version %q", doc.OpenAPI)
	}
	for _, call := range []string{"post /v1/runs", "get /v1/runs", "get /v1/runs/{run_id}", "get /v1/runs/{run_id}/events",
		"get /v1/runs/{run_id}/steps", "post /v1/runs/{run_id}/control", "post /v1/runs/{run_id}/messages", "get /v1/interactions",
		"get /v1/interactions/{id}", "post /v1/interactions/{id}/respond", "post /v1/interactions/respond", "get /v1/agents",
		"get /healthz", "get /readyz"} {
		method, path, _ := strings.Cut(call, " ")
		op, ok := doc.Paths[path][method]
		if !ok || op.OperationID == "" {
			t.Errorf("%s is not described", call)
			continue
		}
		if method == "post" && (op.RequestBody == nil || op.RequestBody.Content["application/json"].Schema == nil) {
			t.Errorf("%s has no described body", call)
		}
		if op.Responses["401"].Content["application/problem+json"] == nil {
			t.Errorf("%s: errors are not described: %v", call, fmt.Sprint(op.Responses))
		}
	}
	if doc.Components.Schemas["Response"].Properties["action"] == nil || doc.Components.Schemas["Problem"].Properties["type"] == nil {
		t.Error("the schemas lack the response or the problem")
	}
}
