package app_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/signing"
)

// withSigning has the bridge sign by a key of its own.
func withSigning(t *testing.T, key, unsigned string) apptest.Setup {
	return func(o *app.Options) {
		appendTo(o.Config, "---\ntype: bridge\nname: signing\nsigning_key: "+key+"\nunsigned_answers: "+unsigned+"\n")
	}
}

// issue makes a signing key at path.
func issue(t *testing.T, root *signing.Root, path string) *signing.Key {
	t.Helper()
	k, err := root.Issue(time.Now(), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Save(path); err != nil {
		t.Fatal(err)
	}
	return k
}

func TestOnlyWhatABridgeSignedDecides(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := signing.CreateRoot(filepath.Join(dir, "root.key"))
	if err != nil {
		t.Fatal(err)
	}
	strange, err := signing.CreateRoot(filepath.Join(dir, "strange.key"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "bridge.key")
	first := issue(t, root, file)
	c := &counter{}
	model := apptest.Turns(apptest.Calls("effect", `{"n":1}`, "effect", `{"n":2}`))
	h := startEffect(t, model, c, withSigning(t, file, "none"))
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 2)
	signed := func(k *signing.Key, r interaction.Response) interaction.Response {
		t.Helper()
		r.RespondedAt = time.Now().UTC()
		r, err := k.Sign(r)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}

	forged := map[string]interaction.Response{"unsigned": approve(asked[0].ID), "of a strange root": signed(issue(t, strange, filepath.Join(dir, "s")), approve(asked[0].ID))}
	changed := signed(first, interaction.Response{ID: "changed", RequestID: asked[0].ID, Action: interaction.ActionReject, Reviewer: interaction.Principal{ID: "rex"}})
	changed.Action = interaction.ActionApprove
	forged["changed on the way"] = changed
	moved := signed(first, approve(asked[1].ID))
	moved.ID, moved.RequestID = "moved", asked[0].ID
	forged["of another question"] = moved
	n := 0
	for name, r := range forged {
		if err := h.Update(run.Workflow, r); err == nil || !strings.Contains(err.Error(), "bridge") {
			t.Errorf("%s: %v", name, err)
		}
		r.ID = interaction.ResponseID("signal-" + strings.ReplaceAll(name, " ", "-"))
		h.Signal(run.Workflow, r)
		n++
	}
	h.Eventually("what was forged to be in the record", func() bool { return strings.Count(h.EventTypes(run.RunID), "error") == n })
	if got := h.Waits(run.RunID, 2); len(got) != 2 || c.count() != 0 {
		t.Fatalf("%d wait, %d ran", len(got), c.count())
	}

	// The key is changed while the run waits.
	h.Answer(asked[0].ID, map[string]any{"action": "approve"})
	h.Eventually("what was approved to be done", func() bool { return resultOf(h, run.RunID, asked[0].ToolCallID) != nil })
	issue(t, root, file)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	h = apptest.Run(t, h.Options)
	h.Answer(asked[1].ID, map[string]any{"action": "approve"})
	completes(h, run.RunID)
	if c.count() != 2 {
		t.Errorf("%d ran", c.count())
	}
	i, _, err := h.Store().Interaction(context.Background(), asked[0].ID)
	if err != nil || len(i.Responses) != 1 || i.Responses[0].SignedBy != interaction.KeyID(first.Certificate().Key) || i.Responses[0].Signature != nil {
		t.Errorf("the record does not say whose key it was: %+v, %v", i.Responses, err)
	}
	events := h.Closed(run.Workflow)
	keep(t, "signed_answers", events)
	replay(t, events)
}

func TestAnUnsignedAnswerCountsUpToTheRiskThatIsConfigured(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := signing.CreateRoot(filepath.Join(dir, "root.key"))
	if err != nil {
		t.Fatal(err)
	}
	issue(t, root, filepath.Join(dir, "bridge.key"))
	model := apptest.Turns(apptest.Calls("ask_human", `{"question":"Which?"}`, "bash", apptest.Bash("true")))
	h := apptest.Start(t, apptest.WithModel(model), apptest.WithRules(`{match: bash, decision: ask, risk: critical}`),
		withSigning(t, filepath.Join(dir, "bridge.key"), "medium"))
	run := h.Begin("go")
	for _, q := range h.Waits(run.RunID, 2) {
		r := approve(q.ID)
		if q.ToolName != "bash" {
			r.Action, r.Text = interaction.ActionAnswer, "this"
		}
		if err := h.Update(run.Workflow, r); (err == nil) != (q.ToolName != "bash") {
			t.Errorf("%s of risk %q: %v", q.ToolName, q.Risk, err)
		}
	}
	h.Answer(h.Waits(run.RunID, 1)[0].ID, map[string]any{"action": "approve"})
	completes(h, run.RunID)
}

func TestNoAgentReadsTheBridgesKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := signing.CreateRoot(filepath.Join(dir, "root.key"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "bridge.key")
	issue(t, root, file)
	h := apptest.Start(t, apptest.WithModel(apptest.Turns(apptest.Calls("file_read", `{"path":"`+file+`"}`, "bash", apptest.Bash("cat "+file)))),
		apptest.WithRules(`{match: "file_read(/**)", decision: allow}`, `{match: bash, decision: allow}`), withSigning(t, file, "none"))
	run := h.Begin("go")
	completes(h, run.RunID)
	for _, call := range []string{"-1-1", "-1-2"} {
		if got := resultOf(h, run.RunID, interaction.CallID(string(run.RunID)+call)); got == nil || strings.Contains(got.Content, "PRIVATE KEY") {
			t.Errorf("call %s was answered %+v", call, got)
		}
	}
}

// TestTheTrailSaysWhoseNameABridgeVouchesFor has three who answer: over the bridge, and straight through Temporal with a name
// and without one.
func TestTheTrailSaysWhoseNameABridgeVouchesFor(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	root, err := signing.CreateRoot(filepath.Join(dir, "root.key"))
	if err != nil {
		t.Fatal(err)
	}
	issue(t, root, filepath.Join(dir, "bridge.key"))
	h := startEffect(t, apptest.Turns(apptest.Calls("effect", `{"n":1}`, "effect", `{"n":2}`, "effect", `{"n":3}`)), &counter{},
		withSigning(t, filepath.Join(dir, "bridge.key"), "critical"))
	run := h.Begin("go")
	asked := h.Waits(run.RunID, 3)
	h.Answer(asked[0].ID, by("ada", map[string]any{"action": "approve"}))
	h.Signal(run.Workflow, interaction.Response{RequestID: asked[1].ID, Action: interaction.ActionApprove, Reviewer: interaction.Principal{ID: "bob"}})
	h.Signal(run.Workflow, interaction.Response{RequestID: asked[2].ID, Action: interaction.ActionApprove})
	completes(h, run.RunID)
	var list struct{ Items []api.AuditEntry }
	h.Get("/v1/audit?run_id="+string(run.RunID), &list)
	got := map[interaction.ID]api.AuditDecision{}
	for _, e := range list.Items {
		got[e.InteractionID] = e.Decisions[0]
	}
	for n, want := range []interaction.PrincipalID{"ada", "bob", ""} {
		if d := got[asked[n].ID]; d.By != want || (d.SignedBy != "") != (want == "ada") {
			t.Errorf("%q stands in the trail as %+v", want, d)
		}
	}
	_, csv := h.HTTP("GET", "/v1/audit?format=csv&run_id="+string(run.RunID), nil)
	if text := string(csv); !strings.Contains(text, "someone unnamed (straight through Temporal):approve") {
		t.Errorf("the table has:\n%s", text)
	}
}
