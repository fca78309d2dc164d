package app_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/tool"
)

// hearing keeps all that is sent to it, as a webhook's receiver, as Slack and as a log.
type hearing struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (h *hearing) Write(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all.Write(b)
}

func (h *hearing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	_, _ = h.Write(body)
	fmt.Fprint(w, `{"ok":true}`)
}

func (h *hearing) heard() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.all.String()
}

func TestSecretsAreHiddenWhereAllCanLookAndRunAsTheyAre(t *testing.T) {
	t.Parallel()
	const token, pin = "ghp_aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3", "PIN-734"
	hook, slackHeard, log := &hearing{}, &hearing{}, &hearing{}
	at, slackAt := httptest.NewServer(hook), httptest.NewServer(slackHeard)
	t.Cleanup(at.Close)
	t.Cleanup(slackAt.Close)
	ran := &hearing{}
	h := apptest.Start(t, withEffect(apptest.Effect{Log: func(c tool.Call) { _, _ = ran.Write(c.Args) }}), apptest.WithRules(`{match: effect, decision: ask}`),
		apptest.WithModel(apptest.Turns(apptest.Calls("effect", `{"n":1,"text":"use `+token+`","userPin":"`+pin+`"}`))),
		func(o *app.Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) },
		withConfig("---\ntype: redaction\nname: r\nfields: [pin]\n---\ntype: notifier\nname: hook\nkind: webhook\nurl: "+at.URL+
			"/\nsecret: whsec_"+base64.StdEncoding.EncodeToString(hookKey)+"\n---\ntype: notifier\nname: team\nkind: slack\ntoken: xoxb-1\nsigning_secret: s\nchannel: C1\napi_url: "+slackAt.URL+"/\nusers: [{slack: U1, id: alice}]\n"))
	run := h.Begin("go")
	q := h.Waits(run.RunID, 1)[0]
	if args := string(q.ToolArgs); !strings.Contains(args, token) || !strings.Contains(args, pin) {
		t.Errorf("who may answer does not see the whole: %s", args)
	}
	h.Eventually("both to hear of it", func() bool {
		return strings.Contains(hook.heard(), string(q.ID)) && strings.Contains(slackHeard.heard(), "hidden+here")
	})
	if code, body := h.Respond(q.ID, map[string]any{"action": "modify_args", "args": map[string]any{"n": 1, "text": "use [redacted]"}}); code != http.StatusUnprocessableEntity {
		t.Errorf("a mark in edited arguments: %d %s", code, body)
	}
	if code, out := plain(h, "POST", "/agio/tool-consent", fmt.Sprintf(`{"tool_call_id":%q,"decision":"allow"}`, q.ID)); code != http.StatusConflict {
		t.Errorf("an earlier protocol approved what it was not shown: %d %v", code, out)
	}
	h.Answer(q.ID, map[string]any{"action": "approve"})
	h.Ended(run.RunID)
	if got := ran.heard(); !strings.Contains(got, token) || !strings.Contains(got, pin) {
		t.Errorf("what ran is %s", got)
	}
	if _, body := h.HTTP("GET", "/v1/runs/"+string(run.RunID)+"/events?follow=false", nil); strings.Contains(string(body), token) || strings.Contains(string(body), pin) || !strings.Contains(string(body), `"redacted":true`) {
		t.Errorf("the stream has %s", body)
	}
	var verified struct{ Holds bool }
	if h.Get("/v1/runs/"+string(run.RunID)+"/verification", &verified); !verified.Holds {
		t.Error("the record does not hold")
	}
	for name, heard := range map[string]*hearing{"the webhook": hook, "Slack": slackHeard, "the log": log} {
		if got := heard.heard(); strings.Contains(got, token) || strings.Contains(got, pin) || strings.Contains(got, "button") {
			t.Errorf("%s has %s", name, got)
		}
	}
	if got := hook.heard(); !strings.Contains(got, `"redacted":true`) || strings.Contains(got, q.Digest) {
		t.Errorf("the webhook was sent %s", got)
	}
}
