package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"

	"holdpoint/agent"
	"holdpoint/api"
	"holdpoint/event"
	"holdpoint/interaction"
)

// sse is an open event stream.
type sse struct {
	t   testing.TB
	res *http.Response
	in  *bufio.Reader
}

// item is one event of a stream, or a comment.
type item struct{ id, event, data, comment string }

func (b *bridge) stream(who, method, path, body string, headers ...string) *sse {
	b.t.Helper()
	res, err := b.server.Client().Do(b.request(who, method, path, body, headers...))
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = res.Body.Close() })
	return &sse{b.t, res, bufio.NewReader(res.Body)}
}

// next reads one event or comment; ok is false at the end of the stream.
func (s *sse) next() (it item, ok bool) {
	s.t.Helper()
	for seen := false; ; seen = true {
		line, err := s.in.ReadString('\n')
		if err == io.EOF && !seen {
			return it, false
		}
		if err != nil {
			s.t.Fatalf("the stream broke off: %v", err)
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch name {
		case "id":
			it.id = value
		case "event":
			it.event = value
		case "data":
			it.data = value
		case "":
			if value == "" {
				return it, true
			}
			it.comment = value
		}
	}
}

// events reads n events, or all up to the end, without comments: "1:run_started".
func (s *sse) events(n int) string {
	s.t.Helper()
	var out []string
	for len(out) < n {
		it, ok := s.next()
		if !ok {
			return strings.Join(append(out, "end"), " ")
		}
		if it.event != "" {
			out = append(out, it.id+":"+it.event)
		}
	}
	return strings.Join(out, " ")
}

const all = 1 << 20

func TestAStreamHasEveryEventAndEnds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1")
	b.store.emit("r1", event.RunStarted, event.RunStartedData{Input: "two\nlines"})
	s := b.stream("uma", "GET", "/v1/runs/r1/events", "")
	if ct := s.res.Header.Get("Content-Type"); s.res.StatusCode != 200 || ct != "text/event-stream" {
		t.Fatalf("%d %s", s.res.StatusCode, ct)
	}
	_, _ = s.next() // the opening comment
	first, _ := s.next()
	var e event.Event
	if err := json.Unmarshal([]byte(first.data), &e); err != nil {
		t.Fatal(err)
	}
	if first.id != "1" || first.event != "run_started" || e.Number != 1 || e.RunID != "r1" || !strings.Contains(string(e.Payload), `two\nlines`) {
		t.Errorf("%+v", first)
	}
	b.store.delta("r1", 1, "He")
	if got := s.events(1); got != ":step_delta" {
		t.Errorf("got %s, want a live piece", got)
	}
	for n := range 250 { // more than one page
		b.store.emit("r1", event.Error, event.ErrorData{Message: fmt.Sprint(n)})
	}
	b.store.emit("child", event.RunCompleted, nil)
	b.store.emit("r1", event.RunCompleted, event.RunCompletedData{Output: "done"})
	got := strings.Fields(s.events(all))
	want := 2
	for _, g := range got {
		if strings.HasSuffix(g, "step_delta") || g == "end" {
			continue
		}
		if !strings.HasPrefix(g, fmt.Sprint(want, ":")) {
			t.Fatalf("got %s, want event %d", g, want)
		}
		want++
	}
	if got[len(got)-1] != "end" || want != 253 {
		t.Errorf("ended with %s before event %d", got[len(got)-1], want)
	}
}

func TestAStreamOfWhatIsStoredWaitsForNothing(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1")
	b.store.emit("r1", event.RunStarted, nil)
	b.store.emit("r1", event.Error, event.ErrorData{})
	b.store.delta("r1", 1, "He")
	if got := b.stream("uma", "GET", "/v1/runs/r1/events?follow=false", "").events(all); got != "1:run_started 2:error end" {
		t.Errorf("the whole: %s", got)
	}
	if got := b.stream("uma", "GET", "/v1/runs/r1/events?follow=false&after=1", "").events(all); got != "2:error end" {
		t.Errorf("after the first: %s", got)
	}
}

func TestASubAgentsEndIsNotTheRuns(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1")
	b.store.emit("r1", event.RunStarted, nil)
	b.store.mu.Lock()
	b.store.events["r1"] = append(b.store.events["r1"], event.Event{RunID: "child", Number: 2, Type: event.RunCompleted})
	b.store.mu.Unlock()
	s := b.stream("uma", "GET", "/v1/runs/r1/events", "")
	if got := s.events(2); got != "1:run_started 2:run_completed" {
		t.Fatal(got)
	}
	b.store.emit("r1", event.RunFailed, nil)
	if got := s.events(all); got != "3:run_failed end" {
		t.Error(got)
	}
}

func TestAStreamIsResumedWithoutGapOrRepeat(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1")
	for range 3 {
		b.store.emit("r1", event.Error, nil)
	}
	b.store.emit("r1", event.RunCompleted, nil)
	b.store.runs[0].Status = agent.RunCompleted
	for after, want := range map[string]string{"0": "1:error 2:error 3:error 4:run_completed end", "2": "3:error 4:run_completed end", "4": "end"} {
		if got := b.stream("uma", "GET", "/v1/runs/r1/events", "", "Last-Event-ID", after).events(all); got != want {
			t.Errorf("after %s: %s", after, got)
		}
		if got := b.stream("uma", "GET", "/v1/runs/r1/events?after="+after, "").events(all); got != want {
			t.Errorf("?after=%s: %s", after, got)
		}
	}
	if got := b.stream("uma", "GET", "/v1/runs/r1/events?after=0", "", "Last-Event-ID", "3").events(all); got != "4:run_completed end" {
		t.Errorf("the header does not go before the query: %s", got)
	}
	for _, bad := range []string{"x", "-1", "5", "1.5", "99999999999999999999"} {
		a := b.do("uma", "GET", "/v1/runs/r1/events", "", "Last-Event-ID", bad)
		wantProblem(t, a, 400, "invalid")
		wantLocation(t, a, "header.Last-Event-ID")
	}
	wantProblem(t, b.do("uma", "GET", "/v1/runs/nope/events", ""), 404, "not_found")
	wantProblem(t, b.do("rob", "GET", "/v1/runs/nope/events", ""), 404, "not_found")
}

// racing is a store in which a step completes between the reading of events and of pieces.
type racing struct {
	*store
	raced bool
}

func (r *racing) Deltas(ctx context.Context, run interaction.RunID, after int64) ([]api.LiveDelta, error) {
	out, err := r.store.Deltas(ctx, run, after)
	if len(out) > 0 && !r.raced {
		r.raced = true
		r.emit(run, event.StepCompleted, nil)
	}
	return out, err
}

func TestPiecesNeverComeBeforeTheStepsThatPrecedeThem(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *api.Config) { c.Store = &racing{store: c.Store.(*store)} })
	b.park("r1", "i1")
	b.store.emit("r1", event.RunStarted, nil)
	b.store.delta("r1", 1, "next turn")
	if got := b.stream("uma", "GET", "/v1/runs/r1/events", "").events(3); got != "1:run_started 2:step_completed :step_delta" {
		t.Error(got)
	}
}

func TestASilentStreamLivesAndSeesTheEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1")
	s := b.stream("uma", "GET", "/v1/runs/r1/events", "")
	for range 3 {
		if it, ok := s.next(); !ok || it.comment == "" {
			t.Fatalf("%+v, %v; want a comment", it, ok)
		}
	}
	b.store.mu.Lock() // the end was recorded, and nobody said so
	b.store.runs[0].Status = agent.RunFailed
	b.store.mu.Unlock()
	if got := s.events(all); got != "end" {
		t.Error(got)
	}
}

func TestAClientThatIsGoneLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *api.Config) { c.MaxStreams = 1 })
	b.park("r1", "i1")
	s := b.stream("uma", "GET", "/v1/runs/r1/events", "")
	_, _ = s.next()
	a := b.do("uma", "GET", "/v1/runs/r1/events", "")
	wantProblem(t, a, 503, "too_many_streams")
	if b.store.watching() != 1 {
		t.Fatalf("%d watch", b.store.watching())
	}
	_ = s.res.Body.Close()
	eventually(t, "the watch ends", func() bool { return b.store.watching() == 0 })
	b.store.emit("r1", event.RunCompleted, nil)
	eventually(t, "the place is free again", func() bool {
		return b.do("uma", "GET", "/v1/runs/r1/events", "").status == 200
	})
}

func TestAReaderThatIsTooSlowIsCutOff(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *api.Config) { c.WriteTimeout = 50 * time.Millisecond })
	b.park("r1", "i1")
	conn, err := net.Dial("tcp", strings.TrimPrefix(b.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "GET /v1/runs/r1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer uma\r\n\r\n")
	eventually(t, "the stream is open", func() bool { return b.store.watching() == 1 })
	big := event.ErrorData{Message: strings.Repeat("x", 1<<20)}
	for range 16 { // far more than the sockets hold
		b.store.emit("r1", event.Error, big)
	}
	eventually(t, "the reader is cut off", func() bool { return b.store.watching() == 0 })
}

func TestCloseEndsTheStreams(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1")
	s := b.stream("uma", "GET", "/v1/runs/r1/events", "")
	_, _ = s.next()
	if err := b.api.Close(); err != nil {
		t.Fatal(err)
	}
	if got := s.events(all); got != "end" {
		t.Error(got)
	}
}

func TestAnAnswerGoesOnAsTheStream(t *testing.T) {
	t.Parallel()
	for _, worker := range []bool{true, false} {
		b := setup(t)
		b.park("r1", "i1")
		b.store.emit("r1", event.RunStarted, nil)
		b.store.emit("r1", event.InteractionRequest, nil)
		b.temporal.onUp = func(o client.UpdateWorkflowOptions) (any, error) {
			if !worker {
				return nil, errNoWorker
			}
			b.store.emit("r1", event.InteractionResponse, nil) // at once, before the answer is out
			return applied(o)
		}
		s := b.stream("rex", "POST", respondPath, `{"action":"approve"}`, "Accept", "text/event-stream")
		status, note := 200, "answered"
		if !worker {
			status, note = 202, "stored"
			b.store.emit("r1", event.InteractionResponse, nil)
		}
		if s.res.StatusCode != status || s.res.Header.Get(api.StatusHeader) != note {
			t.Errorf("%d %v", s.res.StatusCode, s.res.Header)
		}
		b.store.emit("r1", event.RunCompleted, nil)
		if got := s.events(all); got != "3:interaction_response 4:run_completed end" {
			t.Error(got)
		}
	}
	b := setup(t)
	b.park("r1", "i1", decided("rob", interaction.ActionReject))
	a := b.do("rex", "POST", respondPath, `{"action":"approve"}`, "Accept", "text/event-stream")
	wantProblem(t, a, 409, "already_decided")
}
