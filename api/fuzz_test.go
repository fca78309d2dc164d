package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"holdpoint/agent"
	"holdpoint/api"
	"holdpoint/api/apitest"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/workflows"
)

// FuzzRequests sends anything to every call of the description, as who may everything and as who may answer: nothing is a
// fault of the bridge's, each answer is as it is described, and no call runs that was not plainly approved.
func FuzzRequests(f *testing.F) {
	b := matrixBridge(f, func(c *api.Config) { c.RequestsPerMinute = 1 << 40 })
	d := b.described()
	ops := d.Operations()
	for n, o := range ops {
		f.Add(byte(n), filled(o.Path, named), strings.TrimPrefix(matrix[o.ID].query, "?"), []byte(matrix[o.ID].body), "")
		f.Add(byte(n), filled(o.Path, named), "page_size=2&page_token=x&since=2026-01-31T12:00:00Z&wait=1ms&follow=false", []byte(`{"id":"x","action":"modify_args","args":{"n":1}}`), "3")
	}
	for _, s := range []string{`null`, `[]`, `{"responses":[{"request_id":"i1","option_id":"approve","digest":"d1"}]}`, `{"action":"approve","reviewer":{"id":"rex"}}`,
		`{"user_id":"uma","tool":"bash","args_raw":"{}","args":{"command":"ls"}}`, `{"pattern":"bash(ls)","where":[{"arg":"n","op":"lt","value":3}],"expires_in":"1h"}`,
		`{"title":"x","timeout":"24h","escalate":[{"after":"8h","to":["group:x"]}],"callback_url":"https://ci.example.com/x"}`, "{\"a\":1,\"a\":2}", "\xff"} {
		for n := range ops {
			f.Add(byte(n), filled(ops[n].Path, named), "", []byte(s), "")
		}
	}
	runs, questions := slices.Clone(b.store.runs), slices.Clone(b.store.interactions)
	f.Fuzz(func(t *testing.T, op byte, path, query string, body []byte, last string) {
		o := ops[int(op)%len(ops)]
		b.reset(runs, questions)
		for _, who := range []string{"ada", "rex"} {
			b.throw(t, d, o, who, path, query, body, last)
		}
	})
}

// reset takes the bridge back to where it began.
func (b *bridge) reset(runs []agent.Run, questions []interaction.Interaction) {
	unlock := b.store.lock()
	b.store.runs, b.store.interactions = slices.Clone(runs), slices.Clone(questions)
	b.store.events = map[interaction.RunID][]event.Event{"r1": b.store.events["r1"][:3]}
	clear(b.store.responses)
	clear(b.store.submitted)
	unlock()
	b.temporal.mu.Lock()
	defer b.temporal.mu.Unlock()
	b.temporal.updates, b.temporal.starts, b.temporal.inputs, b.temporal.signals = nil, nil, nil, nil
	clear(b.temporal.live)
}

// throw sends one request without a connection, so that streams end at once.
func (b *bridge) throw(t *testing.T, d *apitest.Description, o apitest.Operation, who, path, query string, body []byte, last string) {
	target, err := url.ParseRequestURI("http://localhost" + path)
	if err != nil || target.Host != "localhost" {
		return
	}
	target.RawQuery = query
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond) // nobody waits for long here
	defer cancel()
	r := httptest.NewRequestWithContext(ctx, o.Method, "http://localhost/", bytes.NewReader(body))
	r.URL, r.RequestURI = target, target.RequestURI()
	r.Header.Set("Authorization", "Bearer "+who)
	if len(body) > 0 {
		r.Header.Set("Content-Type", "application/json")
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
		r.Header.Set("Idempotency-Key", last)
	}
	rec := httptest.NewRecorder()
	b.api.ServeHTTP(rec, r)
	if rec.Code >= 500 && rec.Code != http.StatusServiceUnavailable {
		t.Fatalf("%s %s %q: %d %s", o.Method, target, body, rec.Code, rec.Body)
	}
	if rec.Code < 300 && rec.Header().Get("Content-Type") == "" && rec.Body.Len() == 0 {
		return
	}
	if err := d.Check(r, rec.Code, rec.Header().Get("Content-Type"), rec.Body.Bytes()); err != nil {
		t.Fatalf("%s %s %q: %v", o.Method, target, body, err)
	}
	b.onlyPlainApprovals(t, body)
}

// onlyPlainApprovals looks at what was forwarded: an approval has a word for it in the body.
func (b *bridge) onlyPlainApprovals(t *testing.T, body []byte) {
	b.temporal.mu.Lock()
	defer b.temporal.mu.Unlock()
	for _, u := range b.temporal.updates {
		msg, ok := u.Args[0].(workflows.RespondMessage)
		if !ok {
			continue
		}
		for _, r := range msg.Responses {
			approving := r.Action == interaction.ActionApprove || r.Action == interaction.ActionModifyArgs
			if approving && !saysYes(body) {
				t.Fatalf("%q was forwarded as %s", body, r.Action)
			}
		}
	}
	b.temporal.updates = nil
}

// saysYes reports whether any text or truth in a body could mean an approval.
func saysYes(body []byte) bool {
	var v any
	if json.Unmarshal(body, &v) != nil {
		return false
	}
	return yesIn(v)
}

func yesIn(v any) bool {
	switch x := v.(type) {
	case bool:
		return x
	case string:
		return slices.Contains([]string{"approve", "modify_args", "allow"}, x)
	case []any:
		return slices.ContainsFunc(x, yesIn)
	case map[string]any:
		for _, one := range x {
			if yesIn(one) {
				return true
			}
		}
	}
	return false
}
