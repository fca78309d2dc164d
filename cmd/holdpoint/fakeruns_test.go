package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"holdpoint/agent"
	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/llm"
)

// runRoutes plays what the bridge knows of runs: bridge/runs.json (newest first), else a run for each that an
// interaction names; bridge/steps.json is the transcript of every run.
func (b *fakeBridge) runRoutes(t testing.TB, mux *http.ServeMux) {
	readBridge(t, b.dir, "runs.json", &b.runs)
	var steps []llm.Step
	readBridge(t, b.dir, "steps.json", &steps)
	mux.HandleFunc("GET /v1/runs", b.listRuns)
	mux.HandleFunc("GET /v1/runs/{id}", b.getRun)
	mux.HandleFunc("GET /v1/runs/{id}/steps", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(api.StepList{Items: steps})
	})
	mux.HandleFunc("POST /v1/runs/{id}/{what}", b.told)
	mux.HandleFunc("POST /v1/interactions/respond", b.respondBatch)
	mux.HandleFunc("GET /v1/agents", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(api.AgentList{Items: []api.AgentInfo{{Name: "coder", Description: "writes $(touch x) code"}, {Name: "o;dd"}}})
	})
}

func (b *fakeBridge) allRuns() []agent.Run {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.runs != nil {
		return b.runs
	}
	var runs []agent.Run
	for _, row := range b.rows {
		if !slices.ContainsFunc(runs, func(r agent.Run) bool { return r.ID == row.Request.RunID }) {
			runs = append(runs, agent.Run{ID: row.Request.RunID, SessionID: row.Request.SessionID, Agent: "coder",
				Status: agent.RunAwaitingHuman, Input: "mend it", StartedAt: testNow})
		}
	}
	return runs
}

func readBridge(t testing.TB, dir, name string, v any) {
	data, err := os.ReadFile(filepath.Join(dir, "bridge", name))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

func (b *fakeBridge) listRuns(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	is := func(name string, value string) bool { return q.Get(name) == "" || q.Get(name) == value }
	var fits []agent.Run
	for _, r := range b.allRuns() {
		if is("status", string(r.Status)) && is("agent", r.Agent) && is("user_id", string(r.UserID)) && is("session_id", string(r.SessionID)) &&
			(strings.HasPrefix(string(r.ID), q.Get("prefix")) || strings.HasPrefix(string(r.SessionID), q.Get("prefix"))) {
			fits = append(fits, r)
		}
	}
	start, _ := strconv.Atoi(q.Get("page_token"))
	size, _ := strconv.Atoi(q.Get("page_size"))
	page := api.RunList{Items: fits[min(start, len(fits)):min(start+cmp.Or(size, 50), len(fits))]}
	if end := start + len(page.Items); end < len(fits) {
		page.NextPageToken = strconv.Itoa(end)
	}
	_ = json.NewEncoder(w).Encode(page)
}

func (b *fakeBridge) getRun(w http.ResponseWriter, r *http.Request) {
	for _, run := range b.allRuns() {
		if string(run.ID) != r.PathValue("id") {
			continue
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		v := api.RunView{Run: run, Steps: 3, Pending: []api.Pending{}}
		for _, row := range b.rows {
			if row.Request.RunID == run.ID && !row.Status.Final() {
				v.Pending = append(v.Pending, api.Pending{ID: row.Request.ID, Title: row.Request.Title, Risk: row.Request.Risk})
			}
		}
		_ = json.NewEncoder(w).Encode(v)
		return
	}
	refuse(w, 404, api.CodeNotFound, "there is no such run")
}

// told takes control and messages; a run whose id begins with "stored" has no worker.
func (b *fakeBridge) told(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	b.record(append([]byte(r.URL.Path+" "), body...))
	for _, run := range b.allRuns() {
		if string(run.ID) == r.PathValue("id") && run.Status.Final() {
			refuse(w, 409, api.CodeRunEnded, "the run has ended")
			return
		}
	}
	var sent struct{ ID interaction.ResponseID }
	_ = json.Unmarshal(body, &sent)
	out := api.Delivered{ID: sent.ID, Status: "accepted", Duplicate: sent.ID == "again"}
	if strings.HasPrefix(r.PathValue("id"), "stored") {
		out.Status = api.StatusStored
	}
	_ = json.NewEncoder(w).Encode(out)
}

func (b *fakeBridge) respondBatch(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	b.record(body)
	list, err := interaction.DecodeResponses(body)
	if err != nil {
		refuse(w, 400, api.CodeInvalid, err.Error())
		return
	}
	var out api.AnsweredBatch
	for _, resp := range list {
		item := api.AnsweredItem{Answered: api.Answered{ResponseID: resp.ID, InteractionID: resp.RequestID}}
		row := b.row(string(resp.RequestID))
		resp.Reviewer, resp.RespondedAt = interaction.Principal{ID: "ada"}, testNow
		var e *interaction.Error
		if _, err := row.Apply(resp, testNow); errors.As(err, &e) {
			item.Problem = &api.Problem{Code: api.Code(e.Code), Detail: e.Error()}
		} else {
			item.Applied, item.Status, item.Quorum, item.Approvals = true, string(row.Status), row.Request.QuorumNeeded(), row.Approvals()
		}
		out.Items = append(out.Items, item)
	}
	b.changed.Broadcast()
	_ = json.NewEncoder(w).Encode(out)
}
