package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"holdpoint/agent"
	"holdpoint/api"
	"holdpoint/event"
	"holdpoint/interaction"
)

const fakeToken = "token-of-the-tests"

// fakeBridge plays a bridge from files: bridge/interactions.json (a list of interactions), bridge/events.jsonl (the
// stream of every run). What it is sent is appended to got.jsonl. Answers are judged by the real core.
type fakeBridge struct {
	*httptest.Server
	dir     string
	mu      sync.Mutex
	changed *sync.Cond // a row was answered
	rows    []interaction.Interaction
	runs    []agent.Run
	conns   int // event streams opened so far
	fail    int // requests to refuse with 503 first
}

func newFakeBridge(t testing.TB, dir string) *fakeBridge {
	b := &fakeBridge{dir: dir}
	b.changed = sync.NewCond(&b.mu)
	if data, err := os.ReadFile(filepath.Join(dir, "bridge", "interactions.json")); err == nil {
		var views []api.Interaction
		if err := json.Unmarshal(data, &views); err != nil {
			t.Fatalf("interactions.json: %v", err)
		}
		for _, v := range views {
			row := interaction.Open(v.Request, v.CreatedAt)
			if v.Status != "" {
				row.Status, row.Action, row.ClosedAt, row.Responses = v.Status, v.Action, v.ClosedAt, v.Responses
			}
			b.rows = append(b.rows, row)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/interactions", b.list)
	mux.HandleFunc("GET /v1/interactions/{id}", b.get)
	mux.HandleFunc("POST /v1/interactions/{id}/respond", b.respond)
	mux.HandleFunc("POST /v1/runs", b.start)
	mux.HandleFunc("GET /v1/runs/{id}/events", b.events)
	b.runRoutes(t, mux)
	b.Server = httptest.NewServer(b.guard(mux))
	t.Cleanup(b.Close)
	return b
}

func (b *fakeBridge) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b.mu.Lock()
		failing := b.fail > 0
		b.fail--
		b.mu.Unlock()
		switch {
		case r.Header.Get("Authorization") != "Bearer "+fakeToken:
			refuse(w, 401, api.CodeUnauthenticated, "who are you?")
		case failing:
			refuse(w, 503, api.CodeUnavailable, "not now")
		default:
			next.ServeHTTP(w, r)
		}
	})
}

func refuse(w http.ResponseWriter, status int, code api.Code, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(api.Problem{Code: code, Status: status, Detail: detail})
}

func view(i interaction.Interaction) api.Interaction {
	return api.Interaction{Request: i.Request, Status: i.Status, Responses: i.Responses, Action: i.Action, ClosedAt: i.ClosedAt}
}

func (b *fakeBridge) list(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	page := api.InteractionList{Items: []api.Interaction{}}
	for _, i := range slices.Backward(b.rows) {
		q := r.URL.Query()
		if (q.Get("status") == "" || q.Get("status") == string(i.Status)) && (q.Get("run_id") == "" || q.Get("run_id") == string(i.Request.RunID)) {
			page.Items = append(page.Items, view(i))
		}
	}
	_ = json.NewEncoder(w).Encode(page)
}

func (b *fakeBridge) row(id string) *interaction.Interaction {
	for n := range b.rows {
		if string(b.rows[n].Request.ID) == id {
			return &b.rows[n]
		}
	}
	return nil
}

func (b *fakeBridge) get(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	row := b.row(r.PathValue("id"))
	if row == nil {
		refuse(w, 404, api.CodeNotFound, "there is no such interaction")
		return
	}
	_ = json.NewEncoder(w).Encode(view(*row))
}

func (b *fakeBridge) respond(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	b.record(body)
	resp, err := interaction.DecodeResponse(body)
	row := b.row(r.PathValue("id"))
	if strings.Contains(string(resp.Args), "against the schema") {
		refuse(w, 422, api.CodeInvalidArgs, "args.command: must be short")
		return
	}
	if err == nil && row != nil {
		resp, _ = row.Request.TakeSecrets(resp, func(string, interaction.SecretValue) (string, string, error) { return "ref", "digest", nil })
		resp.Reviewer, resp.RespondedAt = interaction.Principal{ID: "ada"}, testNow
		_, err = row.Apply(resp, testNow)
		b.changed.Broadcast()
	}
	var e *interaction.Error
	switch {
	case row == nil:
		refuse(w, 404, api.CodeNotFound, "there is no such interaction")
	case errors.As(err, &e):
		status := map[interaction.Code]int{interaction.CodeAlreadyDecided: 409, interaction.CodeExpired: 410}[e.Code]
		refuse(w, max(status, 400), api.Code(e.Code), e.Error())
	default:
		_ = json.NewEncoder(w).Encode(api.Answered{ResponseID: resp.ID, InteractionID: row.Request.ID, Applied: true,
			Status: string(row.Status), Approvals: row.Approvals(), Quorum: row.Request.QuorumNeeded()})
	}
}

func (b *fakeBridge) record(body []byte) {
	f, err := os.OpenFile(filepath.Join(b.dir, "got.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, _ = fmt.Fprintf(f, "%s\n", body)
		_ = f.Close()
	}
}

func (b *fakeBridge) start(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.record(body)
	var s api.StartRun
	_ = json.Unmarshal(body, &s)
	if s.Agent == "nobody" {
		w.WriteHeader(422)
		_ = json.NewEncoder(w).Encode(api.Problem{Code: api.CodeUnknownAgent, Detail: `there is no agent "nobody"; agents lists those there are`, Agents: []string{"demo", "other"}})
		return
	}
	w.WriteHeader(201)
	_ = json.NewEncoder(w).Encode(api.StartedRun{RunID: "run-1", SessionID: "s-1", WorkflowID: "session-s-1", Status: "running"})
}

// events sends the stream, and cuts it after each event but the last: a client that resumes sees each once.
func (b *fakeBridge) events(w http.ResponseWriter, r *http.Request) {
	data, err := os.ReadFile(filepath.Join(b.dir, "bridge", "events.jsonl"))
	if err != nil {
		refuse(w, 404, api.CodeNotFound, "there is no such run")
		return
	}
	b.mu.Lock()
	b.conns++
	b.mu.Unlock()
	after, _ := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	w.Header().Set("Content-Type", "text/event-stream")
	fmt.Fprint(w, ": open\n\n")
	sent := 0
	for line := range strings.SplitSeq(strings.TrimSpace(string(data)), "\n") {
		var e event.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			return
		}
		if e.Number > 0 && e.Number < after { // the one at after is sent again: a client must not show it twice
			continue
		}
		if r.URL.Query().Get("follow") != "false" && !b.answered(r.Context(), w, e) {
			return
		}
		if e.Number > 0 {
			fmt.Fprintf(w, "id: %d\n", e.Number)
		}
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.Type, line)
		if sent++; sent == 3 && r.URL.Query().Get("follow") != "false" {
			return
		}
	}
}

// answered holds a stream back at an interaction_response until its interaction was answered here.
func (b *fakeBridge) answered(ctx context.Context, w http.ResponseWriter, e event.Event) bool {
	if e.Type != event.InteractionResponse {
		return true
	}
	d, err := event.Decode(e)
	if err != nil {
		return false
	}
	_ = http.NewResponseController(w).Flush()
	stop := context.AfterFunc(ctx, func() { b.mu.Lock(); defer b.mu.Unlock(); b.changed.Broadcast() })
	defer stop()
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		row := b.row(string(d.(event.InteractionResponseData).InteractionID))
		if row == nil || row.Status.Final() {
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		b.changed.Wait()
	}
}
