package api_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
)

// ofParsers are the words of Go's parsers, which tell nobody what to write.
var ofParsers = []string{"2006", "strconv", "parsing ", "invalid syntax", "time:", "date-time", "invalid "}

// TestWhatCantBeReadIsToldInOurWords gives every parameter of every call a value that it can't have.
func TestWhatCantBeReadIsToldInOurWords(t *testing.T) {
	t.Parallel()
	b := matrixBridge(t)
	var spec struct {
		Paths map[string]map[string]struct {
			Parameters []struct{ Name, In string }
		}
	}
	if err := json.Unmarshal([]byte(b.do("", "GET", "/openapi.json", "").raw), &spec); err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for path, calls := range spec.Paths {
		for method, call := range calls {
			for _, p := range call.Parameters {
				if p.In != "query" || method != "get" {
					continue
				}
				got := b.do("ada", "GET", filled(path, named)+"?"+p.Name+"="+url.QueryEscape("yesterday's"), "")
				if got.status < 400 {
					continue // it takes any text
				}
				told[p.Name] = got.raw
				for _, word := range ofParsers {
					if strings.Contains(got.raw, word) {
						t.Errorf("%s %s: %s", path, p.Name, got.raw)
					}
				}
			}
		}
	}
	for name, want := range map[string]string{"since": `must be a time as RFC 3339 has it, such as 2026-01-31T15:04:05Z, not \"yesterday's\"`, "until": "such as 2026-01-31T15:04:05Z",
		"page_size": `must be a whole number, not \"yesterday's\"`, "mine": "must be true or false", "after": "not the number of an event", "wait": "write one such as 30s"} {
		if !strings.Contains(told[name], want) {
			t.Errorf("%s: %s", name, told[name])
		}
	}
	for path, body := range map[string]string{"/v1/permissions/uma/allow": `{"pattern":"bash(ls)","expires_at":"yesterday"}`, "/v1/tokens": `{"id":"x","role":"user","expires_at":"yesterday"}`} {
		if got := b.do("ada", "POST", path, body); got.status < 400 || !strings.Contains(got.raw, "such as 2026-01-31T15:04:05Z") {
			t.Errorf("%s: %d %s", path, got.status, got.raw)
		}
	}
}
