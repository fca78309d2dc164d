package api_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"

	"holdpoint/api"
	"holdpoint/api/adapters"
	"holdpoint/event"
	"holdpoint/interaction"
)

// word is a rule that knows one secret.
type word string

func (w word) Text(s string) (string, bool) {
	return strings.ReplaceAll(s, string(w), interaction.Redacted), strings.Contains(s, string(w))
}

func (w word) JSON(raw []byte) ([]byte, bool) {
	return bytes.ReplaceAll(raw, []byte(w), []byte(interaction.Redacted)), bytes.Contains(raw, []byte(w))
}

const hunter = word("hunter22")

func hiding(c *api.Config) { c.Hider = hunter }

func TestAStreamHidesSecretsAndLeavesTheRestAsItIs(t *testing.T) {
	t.Parallel()
	plain, hidden := setup(t), setup(t, hiding)
	var data [2][]string
	for n, b := range []*bridge{plain, hidden} {
		b.park("r1", "i1")
		b.store.emit("r1", event.RunStarted, event.RunStartedData{Input: "<go> & \u00e9"})
		b.store.emit("r1", event.StepCompleted, event.StepCompletedData{Role: "tool", Content: "it is hunter22"})
		b.store.emit("r1", event.RunCompleted, event.RunCompletedData{Output: "done"})
		s := b.stream("uma", "GET", "/v1/runs/r1/events", "")
		for it, ok := s.next(); ok; it, ok = s.next() {
			if it.event != "" {
				data[n] = append(data[n], it.id+" "+it.data)
			}
		}
		if len(data[n]) != 3 || strings.Contains(strings.Join(data[n][:1], ""), "redacted") {
			t.Fatalf("got %v", data[n])
		}
	}
	if data[0][0] != data[1][0] || data[0][2] != data[1][2] {
		t.Errorf("without a secret: %s and %s, was %s and %s", data[1][0], data[1][2], data[0][0], data[0][2])
	}
	want := strings.Replace(data[0][1], string(hunter), interaction.Redacted, 1)
	want = strings.TrimSuffix(want, "}") + `,"redacted":true}`
	if data[1][1] != want {
		t.Errorf("got %s, want %s", data[1][1], want)
	}
	if a := hidden.do("uma", "GET", "/v1/runs/r1/events?follow=false&after=1", ""); strings.Contains(a.raw, string(hunter)) || !strings.Contains(a.raw, "id: 2\n") {
		t.Errorf("resumed: %s", a.raw)
	}
}

// numbers hides a number of the payload's own, as a configured name can.
type numbers struct{ word }

func (numbers) JSON([]byte) ([]byte, bool) { return []byte(`{"sequence":"[redacted]"}`), true }

func TestAPayloadThatCannotBeReadAnyMoreIsLeftOut(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *api.Config) { c.Hider = numbers{} })
	b.park("r1", "i1")
	b.store.emit("r1", event.StepCompleted, event.StepCompletedData{Role: "tool", Content: "x"})
	if a := b.do("uma", "GET", "/v1/runs/r1/events?follow=false", ""); !strings.Contains(a.raw, `"payload":{},`) || !strings.Contains(a.raw, `"redacted":true`) {
		t.Errorf("got %s", a.raw)
	}
}

func TestASecretThatIsCutOverLivePiecesIsInNone(t *testing.T) {
	t.Parallel()
	b := setup(t, hiding)
	b.park("r1", "i1")
	s := b.stream("uma", "GET", "/v1/runs/r1/events", "")
	text, id := "", int64(0)
	say := func(turn int, pieces ...string) {
		text = ""
		for _, p := range pieces {
			id++
			unlock := b.store.lock()
			b.store.deltas["r1"] = append(b.store.deltas["r1"], api.LiveDelta{ID: id, StepDeltaData: event.StepDeltaData{Turn: turn, Offset: len(text), Text: p}})
			b.store.wake()
			unlock()
			text += p
		}
	}
	next := func() (d event.StepDeltaData, redacted bool) {
		for {
			it, ok := s.next()
			if !ok {
				t.Fatal("the stream ended")
			}
			if it.event != "" {
				var e event.Event
				if err := json.Unmarshal([]byte(it.data), &e); err != nil || json.Unmarshal(e.Payload, &d) != nil {
					t.Fatalf("%s: %v", it.data, err)
				}
				return d, e.Redacted
			}
		}
	}
	say(1, "the word is hun", "ter", "22, and more ", "after it ")
	if d, redacted := next(); d.Text != "the word is " || redacted {
		t.Errorf("first %+v, %t", d, redacted)
	}
	if d, redacted := next(); d.Text != interaction.Redacted || d.Offset != 12 || !redacted {
		t.Errorf("then %+v, %t", d, redacted)
	}
	say(2, "The ", "next é", "t")
	for _, want := range []event.StepDeltaData{{Turn: 2, Text: "The "}, {Turn: 2, Offset: 4, Text: "next é"}} {
		if d, redacted := next(); d != want || redacted {
			t.Errorf("got %+v, want %+v", d, want)
		}
	}
	say(3, strings.Repeat("x", 5000))
	if d, redacted := next(); d.Text != interaction.Redacted || !redacted {
		t.Errorf("a word without end: %+v", d)
	}
}

func TestTheInboxsStreamHidesSecrets(t *testing.T) {
	t.Parallel()
	b := setup(t, hiding)
	s := b.stream("rex", "GET", "/v1/interactions/events", "")
	next := func() item {
		for {
			if it, ok := s.next(); !ok || it.event != "" {
				return it
			}
		}
	}
	next() // ready
	b.park("r1", "i1", func(i *interaction.Interaction) { i.Request.Title = "Run hunter22" })
	b.store.emit("r1", event.RunPaused, struct{}{})
	if it := next(); !strings.Contains(it.data, `"title":"Run [redacted]"`) || !strings.Contains(it.data, `"redacted":true`) {
		t.Errorf("got %s", it.data)
	}
	if a := b.do("rex", "GET", "/v1/interactions/i1", ""); !strings.Contains(a.raw, "Run hunter22") {
		t.Errorf("who answers must see the whole: %s", a.raw)
	}
}

func TestAMarkIsNeverExecuted(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1")
	for args, field := range map[string]string{
		`{"n":1,"a":{"b":["x","is [redacted]"]}}`: "body.args.a.b[1]", `{"n":1,"s":"\u005bredacted]","s":"x"}`: "body.args.s",
		`{"n":1,"[redacted]":1}`: "body.args.[redacted]",
	} {
		a := b.do("rex", "POST", "/v1/interactions/i1/respond", `{"action":"modify_args","args":`+args+`}`)
		if a.status != 422 || !strings.Contains(a.raw, `"location":"`+field+`"`) {
			t.Errorf("%s: %d %s", args, a.status, a.raw)
		}
	}
	if a := b.do("rex", "POST", "/v1/interactions/i1/respond", `{"action":"modify_args","args":{"n":1,"s":"redacted"}}`); a.status != 200 {
		t.Errorf("without a mark: %d %s", a.status, a.raw)
	}
}

// earlier is a bridge that hides, with the protocols before it and a call with a secret.
func earlier(t *testing.T) *bridge {
	b := setup(t, hiding)
	list, err := adapters.New(adapters.Config{Bridge: b.api, Hider: hunter})
	if err != nil {
		t.Fatal(err)
	}
	list.Mount(b.api.Mount)
	t.Cleanup(func() { _ = list.Close() })
	b.park("r1", "i1", func(i *interaction.Interaction) {
		i.Request.Type, i.Request.Kind, i.Request.SessionID, i.Request.ToolCallID = interaction.TypeToolApproval, interaction.KindPermission, "s-r1", "c1"
		i.Request.Options = interaction.StandardOptions(interaction.KindPermission, interaction.TypeToolApproval)
		i.Request.ToolArgs = json.RawMessage(`{"command":"login hunter22"}`)
	})
	i, _, _ := b.store.Interaction(t.Context(), "i1")
	b.store.emit("r1", event.InteractionRequest, i.Request)
	b.store.emit("r1", event.RunCompleted, event.RunCompletedData{}) // so that streams end
	return b
}

func TestEarlierProtocolsApproveNothingThatTheyHaveNotShown(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ show, path, yes, no string }{
		"consent": {"/interactions/i1", "/agio/tool-consent", `{"tool_call_id":"i1","decision":"allow"}`, `{"tool_call_id":"i1","decision":"deny"}`},
		"agio":    {"/interactions/i1", "/interactions/i1/respond", `{"request_id":"i1","type":"confirm","confirmed":true}`, ""},
		"hitl":    {"/hitl/approvals", "/hitl/decisions", `{"toolCallId":"i1","action":"approve"}`, `{"toolCallId":"i1","action":"deny"}`},
		"edited":  {"/hitl/runs/r1/record", "/hitl/decisions", `{"toolCallId":"i1","action":"modify_args","modifiedArgs":{"n":1}}`, ""},
		"react": {"/api/agent/chat/react/stream?sessionId=s-r1", "/api/agent/chat/react/interaction_response", `{"sessionId":"s-r1","requestId":"i1","selectedOptionId":"approve"}`,
			`{"sessionId":"s-r1","requestId":"i1","selectedOptionId":"reject"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := earlier(t)
			if a := b.do("pia", "GET", c.show, ""); a.status != 200 || strings.Contains(a.raw, string(hunter)) || !strings.Contains(a.raw, "login "+interaction.Redacted) {
				t.Errorf("shown: %d %s", a.status, a.raw)
			}
			if a := b.do("pia", "POST", c.path, c.yes); a.status != http.StatusConflict || !strings.Contains(a.raw, "decide in the inbox") {
				t.Errorf("approved: %d %s", a.status, a.raw)
			}
			if _, kept := b.store.responses["i1"]; kept || len(b.store.responses) > 0 {
				t.Errorf("an answer was kept: %v", b.store.responses)
			}
			if c.no == "" {
				return
			}
			if a := b.do("pia", "POST", c.path, c.no); a.status != 200 {
				t.Errorf("rejected: %d %s", a.status, a.raw)
			}
		})
	}
}

func TestAWebSocketApprovesNothingThatItHasNotShown(t *testing.T) {
	t.Parallel()
	b := earlier(t)
	conn, _, err := websocket.Dial(t.Context(), strings.Replace(b.url, "http", "ws", 1)+"/agent_backend/ws/s-r1",
		&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer pia"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	until := func(want string) string {
		for {
			_, raw, err := conn.Read(t.Context())
			if err != nil || strings.Contains(string(raw), string(hunter)) {
				t.Fatalf("before %s: %s %v", want, raw, err)
			}
			if strings.Contains(string(raw), want) {
				return string(raw)
			}
		}
	}
	say := func(approved string) {
		if err := conn.Write(t.Context(), websocket.MessageText, []byte(`{"type":"agent_tool_permission_response","data":{"execution_id":"i1","approved":`+approved+`}}`)); err != nil {
			t.Fatal(err)
		}
	}
	if got := until("agent_tool_permission_request"); !strings.Contains(got, `"redacted":true`) || !strings.Contains(got, "login "+interaction.Redacted) {
		t.Errorf("asked: %s", got)
	}
	say("true")
	if got := until(`"type":"error"`); !strings.Contains(got, "decide in the inbox") {
		t.Errorf("approved: %s", got)
	}
	say("false")
	until("agent_tool_permission_result")
}
