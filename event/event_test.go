package event_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"holdpoint/event"
	"holdpoint/interaction"
)

var t0 = time.Date(2026, 5, 4, 9, 0, 0, 123456789, time.UTC)

// record is a chain of three events, as a store keeps it.
func record() ([]event.Event, event.Head) {
	var head event.Head
	events := []event.Event{
		event.New("run-1", event.RunStarted, t0, event.RunStartedData{Agent: "demo", Input: "fix it"}),
		event.New("run-1", event.ToolAuthDenied, t0.Add(time.Second), event.ToolAuthDeniedData{ToolName: "bash", Reason: "a rule forbids it"}),
		event.New("run-1", event.RunCompleted, t0.Add(time.Minute), event.RunCompletedData{Output: "done"}),
	}
	for n := range events {
		events[n].Salt = []byte{byte(n), 1, 2, 3}
		events[n] = event.Chain(head, events[n])
		head = event.Head{Number: events[n].Number, Hash: events[n].Hash}
	}
	return events, head
}

func TestAnUntouchedRecordVerifies(t *testing.T) {
	t.Parallel()
	events, head := record()
	got, err := event.Verify(event.Head{}, events)
	if err != nil || got != head || head.Number != 3 {
		t.Fatalf("head %+v, %v; want %+v", got, err, head)
	}
	middle, err := event.Verify(event.Head{}, events[:1])
	if err != nil {
		t.Fatal(err)
	}
	if got, err := event.Verify(middle, events[1:]); err != nil || got != head {
		t.Errorf("verified in two pieces: head %+v, %v", got, err)
	}
	if got, err := event.Verify(head, nil); err != nil || got != head {
		t.Errorf("no events: head %+v, %v", got, err)
	}
}

func TestAChangedRecordDoesNotVerify(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		change func([]event.Event) []event.Event
		want   string
	}{
		{"a changed payload", func(e []event.Event) []event.Event { e[1].Payload = json.RawMessage(`{}`); return e }, "event 2 (tool_auth_denied) was changed"},
		{"a changed payload with its hash", func(e []event.Event) []event.Event {
			e[1].Payload = json.RawMessage(`{}`)
			e[1].Inner = event.PayloadHash(e[1].Salt, e[1].Payload)
			return e
		}, "event 2 (tool_auth_denied) was changed"},
		{"a changed salt", func(e []event.Event) []event.Event { e[0].Salt = nil; return e }, "event 1 (run_started) was changed"},
		{"a changed time", func(e []event.Event) []event.Event { e[1].Time = e[1].Time.Add(time.Microsecond); return e }, "event 2"},
		{"a changed type", func(e []event.Event) []event.Event { e[1].Type = event.Error; return e }, "event 2 (error) was changed"},
		{"a changed hash", func(e []event.Event) []event.Event { e[2].Hash = strings.Repeat("0", 64); return e }, "event 3"},
		{"an event rechained alone", func(e []event.Event) []event.Event {
			e[0].Payload = json.RawMessage(`{}`)
			e[0] = event.Chain(event.Head{}, e[0])
			return e
		}, "event 2 (tool_auth_denied) was changed"},
		{"the first cut off", func(e []event.Event) []event.Event { return e[1:] }, "run run-1: event 2 follows event 0"},
		{"a gap", func(e []event.Event) []event.Event { return append(e[:1:1], e[2]) }, "event 3 follows event 1"},
		{"a gap that was renumbered", func(e []event.Event) []event.Event { e[2].Number = 2; return append(e[:1:1], e[2]) }, "event 2 (run_completed) was changed"},
		{"an event twice", func(e []event.Event) []event.Event { return append(e[:1:1], e...) }, "event 1 follows event 1"},
		{"two events swapped", func(e []event.Event) []event.Event { e[0], e[1] = e[1], e[0]; return e }, "event 2 follows event 0"},
		{"an erased payload without its hash", func(e []event.Event) []event.Event { e[1].Payload, e[1].Inner = nil, ""; return e }, "event 2"},
		{"an erased payload with another hash", func(e []event.Event) []event.Event { e[1] = e[1].Erase(); e[1].Inner = e[0].Inner; return e }, "event 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			events, _ := record()
			head, err := event.Verify(event.Head{}, tt.change(events))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("verified to %+v with error %v, want %q", head, err, tt.want)
			}
		})
	}
}

func TestARecordThatIsCutOffShowsByItsHead(t *testing.T) {
	t.Parallel()
	events, kept := record()
	head, err := event.Verify(event.Head{}, events[:2])
	if err != nil || head == kept {
		t.Errorf("head %+v, %v: the end is missing, and nothing shows it", head, err)
	}
}

func TestAnErasedPayloadLeavesTheChainWhole(t *testing.T) {
	t.Parallel()
	events, kept := record()
	events[0] = events[0].Erase().Erase()
	events[2] = events[2].Erase()
	if events[0].Payload != nil || events[0].Salt != nil || !events[0].Erased() || events[1].Erased() {
		t.Fatalf("erased to %+v", events[0])
	}
	if head, err := event.Verify(event.Head{}, events); err != nil || head != kept {
		t.Fatalf("head %+v, %v; want %+v", head, err, kept)
	}
	if v, err := event.Decode(events[0]); !errors.Is(err, event.ErrErased) || v != nil {
		t.Errorf("an erased payload decoded to %v, %v", v, err)
	}
}

func TestHashesDependOnWhereOnePartEnds(t *testing.T) {
	t.Parallel()
	if event.PayloadHash([]byte("ab"), []byte("c")) == event.PayloadHash([]byte("a"), []byte("bc")) {
		t.Error("salt and payload run into each other")
	}
	berlin := time.FixedZone("", 7200)
	if event.Hash("", 1, event.Error, t0, "x") != event.Hash("", 1, event.Error, t0.In(berlin), "x") {
		t.Error("the hash depends on the time zone")
	}
}

func TestTypesIsTheWholeSet(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("event.go")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^\t\w+ +Type = "(\w+)"`).FindAllStringSubmatch(string(source), -1)
	types := event.Types()
	if len(declared) != len(types) || len(types) != 23 {
		t.Fatalf("%d constants, %d types", len(declared), len(types))
	}
	last := 0
	for n, typ := range types {
		if string(typ) != declared[n][1] {
			t.Errorf("type %d is %s, declared is %s", n, typ, declared[n][1])
		}
		if !typ.Valid() {
			t.Errorf("%s is not valid", typ)
		}
		if typ.Last() {
			last++
		}
	}
	if last != 3 || event.Type("step").Valid() || event.Type("").Last() {
		t.Error("the set is not closed, or a stream has another number of ends than three")
	}
}

func TestNewKeepsAnEventWhoseDataCanNotBeEncoded(t *testing.T) {
	t.Parallel()
	e := event.New("run-1", event.Error, t0.In(time.FixedZone("", 3600)), math.Inf(1))
	if e.Time.Location() != time.UTC || e.Time.Nanosecond() != 123456000 || !strings.Contains(string(e.Payload), "encoding_error") {
		t.Errorf("event %+v", e)
	}
	if _, err := event.Decode(e); err == nil || !strings.Contains(err.Error(), "was written without its payload: json: unsupported value") {
		t.Errorf("decoded with error %v", err)
	}
}

func TestEveryTypeDecodesToItsPayload(t *testing.T) {
	t.Parallel()
	yes := true
	payloads := map[event.Type]any{
		event.RunStarted:         event.RunStartedData{SessionID: "s", Agent: "a", Metadata: map[string]string{"k": "v"}},
		event.StepDelta:          event.StepDeltaData{Turn: 1, Offset: 2, Text: "x"},
		event.StepCompleted:      event.StepCompletedData{StepID: "st", Sequence: 3, ToolCalls: []event.ToolCallData{{ID: "c", Args: json.RawMessage(`{"a":1}`)}}},
		event.InteractionRequest: interaction.Request{ID: "c-1", Type: interaction.TypeConfirm, CreatedAt: t0},
		event.InteractionResponse: event.InteractionResponseData{InteractionID: "c-1", Status: interaction.StatusAnswered,
			Responses: []interaction.Response{{RequestID: "c-1", Confirmed: &yes}}},
		event.ExecutionSuspended: event.SuspendedData{Interactions: []interaction.ID{"c-1"}},
		event.ExecutionResumed:   event.ResumedData{InteractionID: "c-1"},
		event.ToolAuthDenied:     event.ToolAuthDeniedData{ToolCallID: "c", Rule: "bash(rm *)"},
		event.ToolPaused:         event.ToolHoldData{InteractionID: "c-1", By: "ada", Note: "a look"},
		event.ToolResumed:        event.ToolHoldData{InteractionID: "c-1", By: "ada"},
		event.RunPaused:          event.HoldData{By: "ada", Note: "a look"},
		event.RunResumed:         event.HoldData{By: "ada"},
		event.RunCompleted:       event.RunCompletedData{Output: "done"},
		event.RunFailed:          event.RunFailedData{Code: "max_steps", Message: "too many steps"},
		event.RunAbortedByHuman:  event.RunAbortedData{By: "ada"},
		event.Error:              event.ErrorData{Code: "unknown", ResponseID: "r"},
		event.StageStarted:       event.StageData{Workflow: "w", Stage: "s", Agent: "a", StageRunID: "r-1-1-sub"},
		event.StageCompleted:     event.StageData{Workflow: "w", Stage: "s", Status: "failed", Reason: "why"},
		event.StageSkipped:       event.StageData{Workflow: "w", Stage: "s", Reason: "why"},
		event.IterationStarted:   event.StageData{Workflow: "w", Iteration: 2},
		event.BranchStarted:      event.StageData{Workflow: "w", Stage: "s", Agent: "a"},
		event.BranchCompleted:    event.StageData{Workflow: "w", Stage: "s", Status: "completed"},
	}
	for _, typ := range event.Types() {
		t.Run(string(typ), func(t *testing.T) {
			t.Parallel()
			want, typed := payloads[typ]
			if !typed {
				want = json.RawMessage(`{"note":"as it is"}`)
			}
			sent, err := json.Marshal(event.New("run-1", typ, t0, want))
			if err != nil {
				t.Fatal(err)
			}
			var e event.Event
			if err := json.Unmarshal(sent, &e); err != nil {
				t.Fatal(err)
			}
			got, err := event.Decode(e)
			if err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("decoded %#v, %v; want %#v", got, err, want)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		e    event.Event
		want string
	}{
		{"an unknown type", event.Event{RunID: "r", Number: 4, Type: "step", Payload: json.RawMessage(`{}`)}, `run r: event 4 has the unknown type "step"`},
		{"another shape", event.Event{RunID: "r", Number: 4, Type: event.RunFailed, Payload: json.RawMessage(`[]`)}, "event 4 (run_failed) has a payload of the wrong shape"},
		{"no payload", event.Event{RunID: "r", Number: 4, Type: event.RunPaused}, "event 4 (run_paused) has a payload of the wrong shape"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if v, err := event.Decode(tt.e); v != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("decoded %v with error %v", v, err)
			}
		})
	}
}

func TestDecodeIgnoresWhatANewerVersionAdded(t *testing.T) {
	t.Parallel()
	e := event.Event{Type: event.RunCompleted, Payload: json.RawMessage(`{"output":"done","tokens":7}`)}
	v, err := event.Decode(e)
	if err != nil || fmt.Sprint(v) != "{done}" {
		t.Errorf("decoded %v, %v", v, err)
	}
}
