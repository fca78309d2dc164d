package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdpoint/activities"
	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/store"
	"holdpoint/permission"
	"holdpoint/tool"
)

// life is one run: a policy, calls, what people answer, and the denies that appear meanwhile.
type life struct {
	Policy  []law
	Calls   []args
	Answers []reply
}

// args are the arguments of a call of the effect tool.
type args struct {
	N  int  `json:"n"`
	OK bool `json:"ok"`
}

// law is a rule of the policy, in the terms of this test: which effects it is about, and what it says.
type law struct {
	About     string // "" everything, "n:1", "ok:true"
	Effect    permission.Effect
	Quorum    int
	Reviewers []string
	FourEyes  bool
}

// reply is what a person does: answer the pending question about a call. Deny, if set, is saved as a rule after the
// answer and before anything that it lets run can begin.
type reply struct {
	Call   int
	Action interaction.Action
	Who    string
	Args   args // with modify_args
	Deny   string
}

const requester = "requester"

// denyThis stands for a deny of just the arguments that the question is about.
const denyThis = "this"

func anyArgs() *rapid.Generator[args] {
	return rapid.Custom(func(t *rapid.T) args {
		return args{N: rapid.IntRange(1, 3).Draw(t, "n"), OK: rapid.Bool().Draw(t, "ok")}
	})
}

func anyAbout() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"", "n:1", "n:2", "n:3", "ok:true"})
}

func anyLaw() *rapid.Generator[law] {
	return rapid.Custom(func(t *rapid.T) law {
		l := law{About: anyAbout().Draw(t, "about")}
		l.Effect = rapid.SampledFrom([]permission.Effect{permission.Ask, permission.Ask, permission.Ask, permission.Allow, permission.Deny}).Draw(t, "effect")
		if l.Effect == permission.Ask {
			l.Quorum = rapid.IntRange(1, 2).Draw(t, "quorum")
			l.FourEyes = rapid.Bool().Draw(t, "four eyes")
			l.Reviewers = rapid.SampledFrom([][]string{nil, {"ada", "bo"}, {"bo", "cy", requester}}).Draw(t, "reviewers")
		}
		return l
	})
}

func anyReply() *rapid.Generator[reply] {
	return rapid.Custom(func(t *rapid.T) reply {
		r := reply{Call: rapid.IntRange(0, 2).Draw(t, "call"), Who: rapid.SampledFrom([]string{"ada", "bo", "cy", requester}).Draw(t, "who")}
		r.Action = rapid.SampledFrom([]interaction.Action{interaction.ActionApprove, interaction.ActionApprove, interaction.ActionApprove,
			interaction.ActionApprove, interaction.ActionModifyArgs, interaction.ActionReject, interaction.ActionSkip}).Draw(t, "action")
		if r.Action == interaction.ActionModifyArgs {
			r.Args = anyArgs().Draw(t, "args")
		}
		r.Deny = rapid.SampledFrom([]string{"", "", "", "", denyThis, denyThis, "n:1", "n:2", "ok:true"}).Draw(t, "deny")
		return r
	})
}

func anyLife() *rapid.Generator[life] {
	return rapid.Custom(func(t *rapid.T) life {
		return life{Policy: rapid.SliceOfN(anyLaw(), 1, 3).Draw(t, "policy"), Calls: rapid.SliceOfNDistinct(anyArgs(), 1, 3, args.json).Draw(t, "calls"),
			Answers: rapid.SliceOfN(anyReply(), 2, 8).Draw(t, "answers")}
	})
}

// The test runs this many lives side by side, this many times.
const sideBySideLives, generations = 10, "4"

// TestWhateverExecutesWasAllowedAndApproved lets random lives pass on a real server. Whatever executed had no deny in
// force when it was claimed, and approvers who met what the policy demands, for the bytes that ran. Whatever did not
// execute has a result that says why.
func TestWhateverExecutesWasAllowedAndApproved(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"rapid.checks": generations, "rapid.nofailfile": "true", "rapid.shrinktime": "20s"} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	var all tally
	rapid.Check(t, func(rt *rapid.T) {
		lives := rapid.SliceOfN(anyLife(), sideBySideLives, sideBySideLives).Draw(rt, "lives")
		if wrong := live(t, lives, &all); len(wrong) > 0 {
			rt.Fatalf("%s", strings.Join(wrong, "\n"))
		}
	})
	t.Logf("%+v", all.counts)
	if all.counts["executed under an approval"] == 0 || all.counts["denied after an approval"] == 0 {
		t.Error("the lives were too dull to show anything")
	}
}

// tally counts what became of calls.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (c *tally) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[string]int{}
	}
	c.counts[what]++
}

// valve holds tools back just before they claim their execution.
type valve struct{ sync.RWMutex }

func (v *valve) pass(p activities.Point) {
	if p == activities.PointBeforeClaim {
		v.RLock()
		//lint:ignore SA2001 to have waited is all
		v.RUnlock()
	}
}

// live starts a Holdpoint for these lives and lets them pass. It returns what went against the rules.
func live(t *testing.T, lives []life, all *tally) (wrong []string) {
	model, e, hold := &cast{}, &executions{}, &valve{}
	h := apptest.Start(t, apptest.WithModel(model), withEffect(apptest.Effect{Log: e.log}), withConfig(policies(lives)),
		func(o *app.Options) { o.Faults = hold.pass })
	defer h.Close()
	var mu sync.Mutex
	for i, l := range lives {
		var pairs []string
		for _, a := range l.Calls {
			pairs = append(pairs, "effect", a.json())
		}
		model.plays(fmt.Sprintf("life %d", i), apptest.Calls(pairs...))
	}
	atOnce(len(lives), len(lives), func(i int) {
		w := &witness{Holdpoint: h, life: lives[i], hold: hold, made: e, all: all, user: fmt.Sprintf("%s-%d", requester, i)}
		w.lead(i)
		mu.Lock()
		defer mu.Unlock()
		for _, what := range w.judge() {
			wrong = append(wrong, fmt.Sprintf("%s, in the life %+v", what, lives[i]))
		}
	})
	return wrong
}

func (a args) json() string {
	b, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// policies are a policy and an agent for each life. The requester is another person in each.
func policies(lives []life) string {
	var b bytes.Buffer
	for i, l := range lives {
		fmt.Fprintf(&b, "---\ntype: policy\nname: law-%d\nrules:\n", i)
		for _, r := range l.Policy {
			fmt.Fprintf(&b, "  - {match: %q, decision: %s", pattern(r.About), r.Effect)
			if r.Effect == permission.Ask {
				fmt.Fprintf(&b, ", quorum: %d, exclude_requester: %t", r.Quorum, r.FourEyes)
			}
			if len(r.Reviewers) > 0 {
				fmt.Fprintf(&b, ", reviewers: [%s]", strings.ReplaceAll(strings.Join(r.Reviewers, ", "), requester, fmt.Sprintf("%s-%d", requester, i)))
			}
			b.WriteString("}\n")
		}
		fmt.Fprintf(&b, "---\ntype: agent\nname: life-%d\nmodel: played\npolicy: law-%d\n", i, i)
	}
	return b.String()
}

func pattern(about string) string {
	if about == "" {
		return "effect"
	}
	return "effect(" + about + ")"
}

// witness leads one life, and remembers.
type witness struct {
	*apptest.Holdpoint
	life
	hold *valve
	made *executions
	all  *tally
	user string
	run  apptest.RunView

	about map[interaction.ID][]reply // answers that were accepted
	saved []savedDeny
}

// savedDeny is a deny with the time in which it came into force.
type savedDeny struct {
	about         string
	before, after time.Time
}

func (w *witness) lead(i int) {
	code, out := w.HTTP("POST", "/v1/runs", map[string]string{"agent": fmt.Sprintf("life-%d", i), "input": fmt.Sprintf("life %d", i), "user_id": w.user})
	if code != http.StatusCreated {
		w.T.Fatalf("start: %d %s", code, out)
	}
	if err := json.Unmarshal(out, &w.run); err != nil {
		w.T.Fatal(err)
	}
	w.about = map[interaction.ID][]reply{}
	for _, r := range w.Answers {
		w.rest()
		w.answer(r)
	}
	w.rest()
	if len(w.Pending(w.run.RunID)) > 0 {
		controlRun(w.Holdpoint, w.run.RunID, "the life is over")
	}
	w.Ended(w.run.RunID)
}

// rest waits until every call waits for a person or has its result.
func (w *witness) rest() {
	w.Eventually("the run to come to rest", func() bool {
		if end := w.Show(w.run.RunID); end.Status != "running" && end.Status != "awaiting_human" {
			return true
		}
		open := w.Pending(w.run.RunID)
		if s, err := w.State(w.run.Workflow); err != nil || len(s.Pending) != len(open) {
			return false
		}
		for _, s := range steps(w.Holdpoint, w.run.RunID) {
			if s.CallID != "" {
				open = append(open, interaction.Request{})
			}
		}
		return len(open) == len(w.Calls)
	})
}

// answer answers the pending question about a call, if there is one.
func (w *witness) answer(r reply) {
	if r.Who == requester {
		r.Who = w.user
	}
	body := map[string]any{"action": r.Action, "reviewer": map[string]string{"id": r.Who}}
	if r.Action == interaction.ActionModifyArgs {
		body["args"] = r.Args
	}
	for _, q := range w.Pending(w.run.RunID) {
		if string(q.ToolCallID) != fmt.Sprintf("%s-1-%d", w.run.RunID, r.Call%len(w.Calls)+1) {
			continue
		}
		var shown args
		if err := json.Unmarshal(q.ToolArgs, &shown); err != nil {
			w.T.Error(err)
		}
		if r.Deny == denyThis {
			r.Deny = fmt.Sprintf("n:%d", shown.N)
		}
		if r.Deny != "" {
			w.hold.Lock()
			defer w.hold.Unlock()
		}
		switch code, out := w.Respond(q.ID, body); code {
		case http.StatusOK, http.StatusAccepted:
			w.about[q.ID] = append(w.about[q.ID], r)
		case http.StatusForbidden, http.StatusConflict, http.StatusBadRequest:
		default:
			w.T.Errorf("%+v was answered %d %s", r, code, out)
		}
		if r.Deny != "" {
			w.deny(r.Deny)
		}
		return
	}
}

func (w *witness) deny(about string) {
	d := savedDeny{about: about, before: time.Now()}
	rule := permission.Rule{ID: fmt.Sprintf("%s-%d", w.run.RunID, len(w.saved)), Effect: permission.Deny, Pattern: pattern(about),
		UserID: w.user, Source: permission.Source{Layer: permission.LayerUser}, CreatedAt: d.before}
	if err := w.Store().SaveRule(context.Background(), rule); err != nil {
		w.T.Error(err)
	}
	d.after = time.Now()
	w.saved = append(w.saved, d)
}

// entry reads what the ledger and the call's record say.
func (w *witness) entry(call interaction.CallID) (e tool.Execution, begun bool, rec tool.Record) {
	err := w.Store().Write(context.Background(), func(tx *store.Tx) (err error) {
		if e, begun, err = tx.Execution(context.Background(), call); err != nil {
			return err
		}
		rec, _, err = tx.Call(context.Background(), call)
		return err
	})
	if err != nil {
		w.T.Error(err)
	}
	return e, begun, rec
}

// judge holds what became of each call against the rules.
func (w *witness) judge() (wrong []string) {
	ran := map[interaction.CallID][]tool.Call{}
	for _, c := range w.made.of(w.run.RunID) {
		ran[c.ID] = append(ran[c.ID], c)
	}
	denied := map[interaction.CallID]bool{}
	for _, d := range eventsOf[event.ToolAuthDeniedData](w.Holdpoint, w.run.RunID, event.ToolAuthDenied) {
		denied[d.ToolCallID] = d.InteractionID != ""
	}
	for i := range w.Calls {
		id := interaction.CallID(fmt.Sprintf("%s-1-%d", w.run.RunID, i+1))
		entry, begun, rec := w.entry(id)
		switch times := len(ran[id]); {
		case times > 1 || times == 1 != begun:
			wrong = append(wrong, fmt.Sprintf("call %d ran %d times, ledger %t", i, times, begun))
		case times == 1:
			wrong = append(wrong, w.executed(i, ran[id][0], entry)...)
		default:
			if denied[id] {
				w.all.add("denied after an approval")
			}
			wrong = append(wrong, w.notExecuted(i, rec)...)
		}
	}
	return wrong
}
