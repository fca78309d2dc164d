package api_test

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"holdpoint/agent"
	"holdpoint/api"
	"holdpoint/api/adapters"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/workflows"
)

// revocable are people whose tokens may end, or come to mean something else.
type revocable struct {
	mu   sync.Mutex
	now  map[string]interaction.Principal
	gone map[string]bool
	down bool
}

func (v *revocable) Authenticate(r *http.Request) (interaction.Principal, bool, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	who := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	switch p, other := v.now[who]; {
	case v.down:
		return interaction.Principal{}, false, errors.New("the issuer is away")
	case v.gone[who]:
		return interaction.Principal{}, false, nil
	case other:
		return p, true, nil
	}
	return tokens{}.Authenticate(r)
}

func (v *revocable) change(do func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	do()
}

// TestWhatIsFollowedEndsWithWhatLetItsReaderIn has somebody revoked, or given other roles, in the middle of what they follow.
func TestWhatIsFollowedEndsWithWhatLetItsReaderIn(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(v *revocable){
		"revoked": func(v *revocable) { v.gone = map[string]bool{"rex": true} },
		"another role": func(v *revocable) {
			v.now = map[string]interaction.Principal{"rex": {ID: "rex", Groups: []string{"ops"}, Roles: []string{"user"}}}
		},
		"another group": func(v *revocable) {
			v.now = map[string]interaction.Principal{"rex": {ID: "rex", Roles: []string{"reviewer"}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := &revocable{}
			b := setup(t, func(c *api.Config) { c.Auth, c.Approvals = v, policies{} })
			list, err := adapters.New(adapters.Config{Bridge: b.api, Ping: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			list.Mount(b.api.Mount)
			t.Cleanup(func() { _ = list.Close() })
			b.park("r1", "i1", func(i *interaction.Interaction) { i.Request.SessionID = "s-r1" })
			b.store.runs[0].Agent, b.store.runs[0].Ask = agent.ApprovalAgent, &agent.Ask{Title: "Go on?"}
			var followed []*sse
			for _, path := range []string{"/v1/runs/r1/events", "/v1/interactions/events", "/v1/interactions/events?id=i1", "/agio/runs/r1/events"} {
				followed = append(followed, b.stream("rex", "GET", path, ""))
			}
			others := b.stream("uma", "GET", "/v1/runs/r1/events", "")
			conn, _, err := websocket.Dial(t.Context(), strings.Replace(b.url, "http", "ws", 1)+"/agent_backend/ws/s-r1",
				&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer rex"}}})
			if err != nil {
				t.Fatal(err)
			}
			defer conn.CloseNow()
			polled := make(chan answer, 1)
			go func() { polled <- b.do("rex", "GET", "/v1/approvals/r1?wait=60s", "") }()
			eventually(t, "all is followed", func() bool { return b.store.watching() >= 7 })

			v.change(func() { v.down = true }) // which tells nothing of anybody
			for range 5 {
				if it, ok := followed[0].next(); !ok {
					t.Fatalf("a stream ended while nobody could tell who reads it: %+v", it)
				}
			}
			v.change(func() { v.down = false; end(v) })
			for n, s := range followed {
				if got := s.events(all); !strings.HasSuffix(got, "end") {
					t.Errorf("stream %d: %s", n, got)
				}
			}
			for err = nil; err == nil; { // until it is closed
				_, _, err = conn.Read(t.Context())
			}
			if a := <-polled; a.status != 200 || !strings.Contains(a.raw, `"pending"`) {
				t.Errorf("the long-poll: %d %s", a.status, a.raw)
			}
			eventually(t, "nothing is left but another's stream", func() bool { return b.store.watching() == 1 })
			if _, ok := others.next(); !ok {
				t.Error("another's stream ended too")
			}
		})
	}
}

// TestOfAHeadRequestNothingIsLeft asks for the headers of streams, which have no end of their own.
func TestOfAHeadRequestNothingIsLeft(t *testing.T) {
	t.Parallel()
	b := matrixBridge(t, func(c *api.Config) { c.MaxStreams = 1 })
	b.park("r2", "i2", func(i *interaction.Interaction) { i.Request.Reviewers = []string{"group:ops"} })
	for _, path := range []string{"/v1/runs/r2/events", "/v1/interactions/events", "/agio/runs/r2/events", "/api/agent/chat/react/stream?sessionId=s-r2"} {
		res, err := b.server.Client().Do(b.request("ada", "HEAD", path, ""))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		_ = res.Body.Close()
		if res.StatusCode != 200 || res.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%s: %d %v", path, res.StatusCode, res.Header)
		}
		eventually(t, "the place of "+path+" is free again", func() bool { return b.store.watching() == 0 })
	}
	if a := b.do("ada", "GET", "/v1/interactions/events?follow=false", ""); a.status != 200 {
		t.Errorf("the place is taken still: %d %s", a.status, a.raw)
	}
}

// TestAWebSocketIsOpenedByPagesOfConfiguredSites has pages of several sites open one.
func TestAWebSocketIsOpenedByPagesOfConfiguredSites(t *testing.T) {
	t.Parallel()
	sites := []string{"https://desk.example", "http://[::1]:3000", "http://localhost:3000"}
	b := setup(t, func(c *api.Config) { c.CORSOrigins = sites })
	list, err := adapters.New(adapters.Config{Bridge: b.api, Origins: sites})
	if err != nil {
		t.Fatal(err)
	}
	list.Mount(b.api.Mount)
	t.Cleanup(func() { _ = list.Close() })
	const path = "/agent_backend/ws/s1"
	for _, origin := range append(sites, b.url) {
		conn, _, err := websocket.Dial(t.Context(), strings.Replace(b.url, "http", "ws", 1)+path,
			&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer uma"}, "Origin": {origin}}})
		if err != nil {
			t.Errorf("%s: %v", origin, err)
			continue
		}
		_ = conn.CloseNow()
	}
	hands := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}
	for _, origin := range []string{"http://desk.example", "https://desk.example.evil", "http://x.desk.example", "http://[::2]:3000", "http://localhost:3001", "null", "*"} {
		wantProblem(t, b.do("uma", "GET", path, "", append(hands, "Origin", origin)...), 403, "forbidden_origin")
	}
	for header, value := range map[string]string{"Sec-WebSocket-Version": "8", "Sec-WebSocket-Key": "short"} {
		wantProblem(t, b.do("uma", "GET", path, "", append(hands, header, value)...), 400, "invalid")
	}
	wantProblem(t, b.do("uma", "GET", path, "", append(hands, "Connection", "keep-alive")...), 426, "upgrade_required")
}

// TestAControlSignalsPayloadIsOpen sends what the design leaves to its clients.
func TestAControlSignalsPayloadIsOpen(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]string{
		`{"note":"enough"}`: "enough", `{"reason":"too slow","step":3}`: `{"reason":"too slow","step":3}`, `{"note":"enough","by":"ci"}`: `{"note":"enough","by":"ci"}`,
		`{}`: "", `null`: "",
	} {
		b := matrixBridge(t)
		if a := b.do("ada", "POST", "/hitl/control", `{"runId":"r1","action":"pause_run","payload":`+payload+`}`); a.status != 200 {
			t.Errorf("%s: %d %s", payload, a.status, a.raw)
			continue
		}
		if got := b.temporal.updates[0].Args[0].(workflows.ControlMessage); got.Note != want || got.Action != workflows.PauseRun {
			t.Errorf("%s came as %+v", payload, got)
		}
	}
	for _, payload := range []string{`"enough"`, `[1]`, `{"note":1}`, `{"a":1,"a":2}`} {
		b := matrixBridge(t)
		if a := b.do("ada", "POST", "/hitl/control", `{"runId":"r1","action":"abort_run","payload":`+payload+`}`); a.status != 422 || len(b.temporal.updates) > 0 {
			t.Errorf("%s: %d %s", payload, a.status, a.raw)
		}
	}
}

// TestEqualCallsAreOneToAWebSocketClient has two calls of a turn share a question.
func TestEqualCallsAreOneToAWebSocketClient(t *testing.T) {
	t.Parallel()
	b := matrixBridge(t)
	b.park("r2", "i2", func(i *interaction.Interaction) {
		i.Request.Type, i.Request.Kind, i.Request.SessionID, i.Request.ToolCallID = interaction.TypeToolApproval, interaction.KindPermission, "s-r2", "c1"
		i.Request.SharedCallIDs = []interaction.CallID{"c2"}
	})
	i, _, _ := b.store.Interaction(t.Context(), "i2")
	b.store.emit("r2", event.InteractionRequest, i.Request)
	conn, _, err := websocket.Dial(t.Context(), strings.Replace(b.url, "http", "ws", 1)+"/agent_backend/ws/s-r2",
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer ada"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	next := func(typ string) string {
		for {
			_, raw, err := conn.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(raw), typ) {
				return string(raw)
			}
		}
	}
	next("agent_tool_permission_request")
	for _, call := range []interaction.CallID{"c1", "c2"} {
		b.store.emit("r2", event.StepCompleted, event.StepCompletedData{Role: "tool", ToolCallID: call, ToolName: "bash", Content: "done"})
		if got := next("agent_tool_execution_result"); !strings.Contains(got, `"execution_id":"i2"`) {
			t.Errorf("the result of %s: %s", call, got)
		}
	}
}

// TestWhatAWebSocketClientIsToldHangsOnNoClock has a run begin and end after a client came, by clocks that are far behind.
func TestWhatAWebSocketClientIsToldHangsOnNoClock(t *testing.T) {
	t.Parallel()
	b := matrixBridge(t)
	b.park("old", "i-old", func(i *interaction.Interaction) { i.Request.SessionID = "s-old" })
	b.store.emit("old", event.StepCompleted, event.StepCompletedData{Role: "tool", ToolCallID: "c0", ToolName: "bash", Content: "long ago"})
	for session, want := range map[string][]string{"s-new": {"agent_run_result"}, "s-old": {"agent_tool_execution_result", "agent_run_result"}} {
		conn, _, err := websocket.Dial(t.Context(), strings.Replace(b.url, "http", "ws", 1)+"/agent_backend/ws/"+session,
			&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer uma"}}})
		if err != nil {
			t.Fatal(err)
		}
		defer conn.CloseNow()
		if session == "s-new" {
			if a := b.do("uma", "POST", "/v1/runs", `{"agent":"fixer","input":"go","session_id":"s-new"}`); a.status != 201 {
				t.Fatalf("%d %s", a.status, a.raw)
			}
		} else {
			b.store.emit("old", event.StepCompleted, event.StepCompletedData{Role: "tool", ToolCallID: "c1", ToolName: "bash", Content: "just now"})
			b.store.emit("old", event.RunCompleted, event.RunCompletedData{Output: "done"})
		}
		for _, typ := range want {
			_, raw, err := conn.Read(t.Context())
			if err != nil || !strings.Contains(string(raw), typ) || strings.Contains(string(raw), "long ago") {
				t.Errorf("%s: %s, %v, want %s", session, raw, err, typ)
			}
		}
	}
}
