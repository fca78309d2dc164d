package api_test

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"holdpoint/api"
)

// at is a clock that a test may put forward.
type at struct{ seconds atomic.Int64 }

func (a *at) now() time.Time { return t0.Add(time.Duration(a.seconds.Load()) * time.Second) }

func TestOnePrincipalMayMakeSoManyRequests(t *testing.T) {
	t.Parallel()
	var clock at
	b := setup(t, func(c *api.Config) { c.RequestsPerMinute, c.Clock = 6, clock.now })
	for range 6 {
		if a := b.do("rex", "GET", "/v1/agents", ""); a.status != 200 {
			t.Fatal(a.raw)
		}
	}
	a := b.do("rex", "GET", "/v1/agents", "")
	wantProblem(t, a, 429, "too_many_requests")
	if a.header.Get("Retry-After") != "10" {
		t.Errorf("Retry-After %q", a.header.Get("Retry-After"))
	}
	if a := b.do("rob", "GET", "/v1/agents", ""); a.status != 200 {
		t.Errorf("another is kept out too: %s", a.raw)
	}
	if a := b.do("", "GET", "/healthz", ""); a.status != 200 {
		t.Errorf("health is counted: %s", a.raw)
	}
	clock.seconds.Store(10)
	if a := b.do("rex", "GET", "/v1/agents", ""); a.status != 200 {
		t.Errorf("after a while: %s", a.raw)
	}
}

func TestOneAddressMayFailSoOften(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		proxy  bool
		first  string // X-Forwarded-For of those who fail
		second string // of one with the right token, who is kept out where that is the same address
		kept   bool
	}{
		"no proxy, and what a client says of itself": {false, "192.0.2.1", "192.0.2.2", true},
		"another address, by the proxy's word":       {true, "192.0.2.1", "192.0.2.2", false},
		"the same one":                               {true, "198.51.100.9, 192.0.2.1", "203.0.113.5, 192.0.2.1", true},
		"another of the same IPv6 network":           {true, "2001:db8::1", "2001:db8::2", true},
		"another IPv6 network":                       {true, "2001:db8:0:1::1", "2001:db8:0:2::1", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var clock at
			b := setup(t, func(cfg *api.Config) { cfg.FailuresPerMinute, cfg.BehindProxy, cfg.Clock = 3, c.proxy, clock.now })
			for range 3 {
				wantProblem(t, b.do("mallory", "GET", "/v1/agents", "", "X-Forwarded-For", c.first), 401, "unauthenticated")
			}
			wantProblem(t, b.do("mallory", "GET", "/v1/agents", "", "X-Forwarded-For", c.first), 429, "too_many_requests")
			if a := b.do("rex", "GET", "/v1/agents", "", "X-Forwarded-For", c.second); (a.status == 429) != c.kept {
				t.Errorf("got %d %s", a.status, a.raw)
			}
			clock.seconds.Store(60)
			if a := b.do("rex", "GET", "/v1/agents", "", "X-Forwarded-For", c.first); a.status != 200 {
				t.Errorf("a minute later: %d", a.status)
			}
		})
	}
}

func TestOnlyConfiguredSitesMayCall(t *testing.T) {
	t.Parallel()
	const desk = "https://desk.example"
	b := setup(t, func(c *api.Config) { c.CORSOrigins = []string{desk} })
	b.park("r1", "i1")
	ask := []string{"Access-Control-Request-Method", "POST", "Sec-Fetch-Site", "cross-site"}
	a := b.do("", "OPTIONS", respondPath, "", append(ask, "Origin", desk)...)
	if a.status != http.StatusNoContent || a.header.Get("Access-Control-Allow-Origin") != desk || a.header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("preflight: %d %v", a.status, a.header)
	}
	if a := b.do("rex", "POST", respondPath, `{"action":"approve"}`, "Origin", desk, "Sec-Fetch-Site", "cross-site"); a.status != 200 || a.header.Get("Access-Control-Allow-Origin") != desk {
		t.Errorf("from the desk: %d %s %v", a.status, a.raw, a.header)
	}
	if a := b.do("rex", "GET", "/v1/nothing", "", "Origin", desk); a.status != 404 || a.header.Get("Access-Control-Allow-Origin") != desk {
		t.Errorf("an error can't be read by the desk: %d %v", a.status, a.header)
	}
	for _, origin := range []string{"https://desk.example.evil", "http://desk.example", "null", "https://DESK.example:444"} {
		if a := b.do("", "OPTIONS", respondPath, "", append(ask, "Origin", origin)...); a.status == http.StatusNoContent || a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %v", origin, a.status, a.header)
		}
		wantProblem(t, b.do("rex", "POST", respondPath, `{"action":"approve"}`, "Origin", origin, "Sec-Fetch-Site", "cross-site"), 403, "forbidden_origin")
	}
	if a := setup(t).do("", "OPTIONS", respondPath, "", append(ask, "Origin", desk)...); a.header.Get("Access-Control-Allow-Origin") != "" || a.status == 204 {
		t.Errorf("unconfigured: %d %v", a.status, a.header)
	}
}

func TestAnswersCarrySecurityHeaders(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/v1/agents", "/v1/nothing", "/healthz"} {
		a := setup(t).do("rex", "GET", path, "")
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "X-Frame-Options": "DENY",
			"Referrer-Policy": "no-referrer", "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Strict-Transport-Security": ""} {
			if got := a.header.Get(name); got != want {
				t.Errorf("%s: %s: %q", path, name, got)
			}
		}
	}
	behind := setup(t, func(c *api.Config) { c.BehindProxy = true })
	if a := behind.do("rex", "GET", "/v1/agents", ""); a.header.Get("Strict-Transport-Security") == "" {
		t.Error("no Strict-Transport-Security where TLS is in use")
	}
}
