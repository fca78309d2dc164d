package app_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"time"

	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/config"
	"holdpoint/internal/store"
	"holdpoint/llm"
	"holdpoint/permission"
	"holdpoint/tool"
)

// audit checks, from the stored record, the policy's file and the tools' own notes, what must hold of every run
// whatever was killed when:
//
//   - the record's chain is whole, has no errors, and ends once if the run has ended;
//   - every call of the model has exactly one result;
//   - whatever executed had no deny in force, and either a rule that allows it or enough approvers, who approved
//     exactly the bytes that ran;
//   - whatever did its work twice is idempotent, with the same key, or a person said so, knowing.
func (c *crash) audit() {
	c.t.Helper()
	s, err := store.Open(context.Background(), store.Config{DSN: filepath.Join(c.o.Data, "private", "holdpoint.db")})
	c.must(err)
	defer s.Close()
	a := &audit{crash: c, store: s, policy: c.rules()}
	for _, run := range c.runs {
		a.run(run)
	}
}

// rules compiles the policy as it stands in the file.
func (c *crash) rules() *permission.Set {
	c.t.Helper()
	cfg, err := config.Load(c.o.Config, os.LookupEnv)
	c.must(err)
	set, problems, err := permission.Compile(cfg.Policy("main"))
	c.must(err)
	if len(problems) > 0 {
		c.t.Fatal(problems)
	}
	return set
}

type audit struct {
	*crash
	store  *store.Store
	policy *permission.Set
}

func (a *audit) run(id interaction.RunID) {
	a.t.Helper()
	ctx := context.Background()
	a.must(a.store.VerifyRun(ctx, id))
	run, found, err := a.store.Run(ctx, id)
	a.must(err)
	if !found {
		a.t.Errorf("run %s is lost", id)
		return
	}
	events, err := a.store.Events(ctx, id, 0, 1000)
	a.must(err)
	for _, e := range events {
		if e.Type == event.Error {
			a.t.Errorf("the record of run %s has an error: %s", id, e.Payload)
		}
	}
	ends := slices.DeleteFunc(events, func(e event.Event) bool { return !e.Type.Last() })
	if want := map[bool]int{true: 1, false: 0}[run.Status.Final()]; len(ends) != want {
		a.t.Errorf("run %s is %s and its record has %d ends", id, run.Status, len(ends))
	}
	steps, err := a.store.Transcript(ctx, run.SessionID)
	a.must(err)
	var messages []llm.Message
	for _, s := range steps {
		messages = append(messages, s.Message)
	}
	if err := llm.CheckPairing(messages); err != nil && run.Status.Final() {
		a.t.Errorf("transcript of run %s: %v", id, err)
	}
	for _, m := range messages {
		for _, call := range m.ToolCalls {
			a.must(a.store.Write(ctx, func(tx *store.Tx) error { return a.call(ctx, tx, call.ID) }))
		}
	}
}

// call checks one call. An error is of the store alone.
func (a *audit) call(ctx context.Context, tx *store.Tx, id interaction.CallID) error {
	a.t.Helper()
	rec, _, err := tx.Call(ctx, id)
	if err != nil {
		return err
	}
	bodies := slices.DeleteFunc(a.effects(rec.Call.RunID), func(c tool.Call) bool { return c.ID != id })
	executed, found, err := tx.Execution(ctx, id)
	if err != nil {
		return err
	}
	if !found {
		if len(bodies) > 0 {
			a.t.Errorf("call %s did its work %d times and is not in the ledger", id, len(bodies))
		}
		return nil
	}
	for _, b := range bodies {
		if interaction.Digest(b.Name, b.Args, "") != executed.Digest {
			a.t.Errorf("call %s ran %s, which is not what was claimed", id, b.Args)
		}
		if b.Key == "" || b.Key != bodies[0].Key {
			a.t.Errorf("call %s ran with the keys %q and %q", id, bodies[0].Key, b.Key)
		}
	}
	asked, _, err := tx.Interaction(ctx, executed.Interact)
	if err != nil {
		return err
	}
	if len(bodies) > 1 && rec.Call.Name != "safe" && rec.Call.Name != "glance" && asked.Request.Kind != interaction.KindOutcomeUnknown {
		a.t.Errorf("call %s did its work %d times, and nobody said so", id, len(bodies))
	}
	a.allowed(rec, executed, asked)
	return nil
}

// allowed decides anew, and holds the execution's approval against what the policy asks for.
func (a *audit) allowed(rec tool.Record, executed tool.Execution, asked interaction.Interaction) {
	a.t.Helper()
	id := rec.Call.ID
	about := permission.Tool{Name: rec.Call.Name}
	switch {
	case rec.Call.Name == "bash":
		about.Kind, about.Field = permission.KindCommand, "command"
	case rec.Call.Name == "ask_human" || a.victim.Unasked:
		about.Consent = permission.ConsentNever
	}
	d := a.policy.Decide(permission.Call{Tool: about, Args: rec.Call.Args, Workspace: a.Dir, UserID: "requester",
		SessionID: string(rec.Call.SessionID), Now: time.Now()})
	switch {
	case d.Effect == permission.Deny:
		a.t.Errorf("call %s is denied (%s) and executed", id, d.Reason)
	case executed.Interact == "" && d.Effect != permission.Allow:
		a.t.Errorf("call %s executed although nobody approved it: %s", id, d.Reason)
	case executed.Interact != "":
		a.approved(executed, asked, d.Approval)
	}
}

func (a *audit) approved(executed tool.Execution, asked interaction.Interaction, need permission.Approval) {
	a.t.Helper()
	if asked.Status != interaction.StatusAnswered || asked.Action != interaction.ActionApprove ||
		asked.Request.ToolCallID != executed.CallID || asked.Request.Digest != executed.Digest {
		a.t.Errorf("call %s (%s) executed by interaction %s of call %s (%s), which ended %s %s", executed.CallID, executed.Digest,
			asked.Request.ID, asked.Request.ToolCallID, asked.Request.Digest, asked.Status, asked.Action)
	}
	approvers := map[interaction.PrincipalID]bool{}
	for _, r := range asked.Responses {
		who := r.Reviewer.ID
		if r.Action == interaction.ActionApprove && (len(need.Reviewers) == 0 || slices.Contains(need.Reviewers, string(who))) &&
			(!need.ExcludeRequester || who != "requester") {
			approvers[who] = true
		}
	}
	if len(approvers) < max(need.Quorum, 1) {
		a.t.Errorf("call %s executed with %d approvers of %d", executed.CallID, len(approvers), need.Quorum)
	}
}

// asked are the kinds of the interactions that a run has opened, in order.
func (c *crash) asked(run interaction.RunID) (kinds []interaction.Kind) {
	c.t.Helper()
	var list struct {
		Items []interaction.Request `json:"items"`
	}
	c.Get("/v1/interactions?page_size=200&run_id="+string(run), &list)
	for _, r := range slices.Backward(list.Items) {
		kinds = append(kinds, r.Kind)
	}
	return kinds
}
