package app_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
	"holdpoint/tool"
)

// everyMix tries all mixes of three and four calls, which takes minutes, beside those of one and two.
var everyMix = flag.Bool("every-mix", false, "try every mix of decisions over up to four calls, not a sample")

// fate is what becomes of one call of a turn.
type fate string

const (
	fateApprove   fate = "approve"
	fateReject    fate = "reject"
	fateEdit      fate = "edit"
	fateAnswer    fate = "answer"
	fateSkip      fate = "skip"
	fateRetry     fate = "retry"
	fateTimeout   fate = "timeout"
	fateToolError fate = "tool error"
	fateTerminate fate = "terminate"
	fateAbort     fate = "abort"
	fateAllow     fate = "allow" // by a rule, without anyone being asked
	fateDeny      fate = "deny"  // by a rule
)

// fates say which call has which fate, how it is answered, and how its result must look.
var fates = map[fate]struct {
	args   string
	answer map[string]any
	status tool.Status
	words  string // in the result
}{
	fateApprove:   {`{"n":1}`, map[string]any{"action": "approve"}, tool.StatusSuccess, `did {"n":1,`},
	fateReject:    {`{"n":2}`, map[string]any{"action": "reject", "feedback": "too early"}, tool.StatusRejected, "too early"},
	fateEdit:      {`{"n":3}`, edited(`{"n":33}`), tool.StatusSuccess, `did {"n":33}`},
	fateAnswer:    {`{"n":4}`, map[string]any{"action": "answer", "text": "it is blue"}, tool.StatusSuccess, "it is blue"},
	fateSkip:      {`{"n":5}`, map[string]any{"action": "skip"}, tool.StatusSkipped, "skipped"},
	fateRetry:     {`{"n":6}`, map[string]any{"action": "retry", "feedback": "read it first"}, tool.StatusRetry, "read it first"},
	fateTimeout:   {`{"n":7}`, nil, tool.StatusExpired, "deadline"},
	fateToolError: {`{"n":8}`, map[string]any{"action": "approve"}, tool.StatusError, "failed"},
	fateTerminate: {`{"n":9}`, map[string]any{"action": "terminate"}, tool.StatusAborted, "run ended"},
	fateAbort:     {`{"n":10}`, nil, tool.StatusAborted, "run ended"},
	fateAllow:     {`{"n":11,"ok":true}`, nil, tool.StatusSuccess, "did "},
	fateDeny:      {`{"n":12}`, nil, tool.StatusDenied, "no approval can change that"},
}

// fateRules ask for what no other of them speaks of: the effect tool's own default.
var fateRules = []string{`{match: "effect(n:7)", decision: ask, timeout: 1s}`, `{match: "effect(ok:true)", decision: allow}`, `{match: "effect(n:12)", decision: deny}`}

func (f fate) asks() bool  { return f != fateAllow && f != fateDeny }
func (f fate) stops() bool { return f == fateTerminate || f == fateAbort }

// argsOf are the arguments of a call with that fate, unlike those of the other calls of its turn: identical calls
// share what becomes of them.
func (f fate) argsOf(n int) string {
	return fmt.Sprintf(`%s,"tags":[%d]}`, strings.TrimSuffix(fates[f].args, "}"), n)
}

// mix is one turn of a model and what becomes of its calls.
type mix struct {
	fates    []fate
	order    []int // in which they are answered
	together bool  // in one batch
}

func (m mix) String() string {
	return fmt.Sprintf("%v, answered in the order %v, together %t", m.fates, m.order, m.together)
}

// stops is the place in the order at which the run is stopped; the length if it is not.
func (m mix) stops() int {
	for at, i := range m.order {
		if m.fates[i].stops() {
			return at
		}
	}
	return len(m.order)
}

// mixes are each fate alone, each beside each, and a sample of three and four at once. The sample is the same in
// every run of the test.
func mixes() (out []mix) {
	all := []fate{fateApprove, fateReject, fateEdit, fateAnswer, fateSkip, fateRetry, fateTimeout, fateToolError, fateTerminate, fateAbort, fateAllow, fateDeny}
	random := rand.New(rand.NewPCG(20, 1))
	add := func(fates ...fate) {
		out = append(out, mix{fates: fates, order: random.Perm(len(fates)), together: random.IntN(2) == 0})
	}
	for i, f := range all {
		add(f)
		for _, g := range all[i+1:] {
			if random.IntN(2) == 0 {
				f, g = g, f
			}
			add(f, g)
		}
	}
	if *everyMix {
		told := []fate{fateApprove, fateReject, fateEdit, fateAnswer, fateSkip, fateTimeout, fateAbort, fateToolError}
		for a := range told {
			for b := range told[:a+1] {
				for c := range told[:b+1] {
					add(told[a], told[b], told[c])
					for d := range told[:c+1] {
						add(told[a], told[b], told[c], told[d])
					}
				}
			}
		}
	}
	for n := range 20 {
		var fates []fate
		for range 3 + n%2 {
			fates = append(fates, all[random.IntN(len(all))])
		}
		add(fates...)
	}
	return out
}

func TestEveryMixOfDecisionsLeavesAValidTranscript(t *testing.T) {
	t.Parallel()
	model, c := &cast{}, &counter{}
	broken := apptest.Effect{Log: func(call tool.Call) {
		c.log(call)
		if strings.HasPrefix(string(call.Args), strings.TrimSuffix(fates[fateToolError].args, "}")) {
			panic("a fault of the tool")
		}
	}}
	h := apptest.Start(t, apptest.WithModel(model), withEffect(broken), apptest.WithRules(fateRules...))
	all := mixes()
	for i, m := range all {
		var pairs []string
		for n, f := range m.fates {
			pairs = append(pairs, "effect", f.argsOf(n))
		}
		model.plays(inputOf(i), apptest.Calls(pairs...))
		model.plays(inputOf(i) + ", and then")
	}
	atOnce(len(all), 10, func(i int) { playMix(as(t, h), model, inputOf(i), all[i]) })
	if len(model.wrong) > 0 {
		t.Errorf("transcripts that a provider refuses: %v", model.wrong)
	}
	t.Logf("%d mixes", len(all))
}

func inputOf(i int) string { return fmt.Sprintf("mix %d", i) }

// playMix runs a turn, answers it, and looks at the next request in the session: of the same run, or, where it was
// stopped, of the next.
func playMix(h *apptest.Holdpoint, model *cast, input string, m mix) {
	session := newSession()
	run := h.BeginIn(session, input)
	asked := questions(h, run, m)
	if m.together && m.stops() == len(m.order) {
		answerTogether(h, m, asked)
	} else {
		answerInOrder(h, run, m, asked)
	}
	end := h.Ended(run.RunID)
	if m.stops() == len(m.order) {
		if end.Status != "completed" {
			h.T.Fatalf("%s: the run ended %s: %s %s", m, end.Status, end.ErrorCode, end.Error)
		}
		requests := model.requests(input)
		checkMix(h, m, requests[len(requests)-1])
		return
	}
	if end.Status != "aborted" {
		h.T.Fatalf("%s: the run ended %s", m, end.Status)
	}
	next := h.BeginIn(session, input+", and then")
	if end := h.Ended(next.RunID); end.Status != "completed" {
		h.T.Fatalf("%s: the next run ended %s: %s %s", m, end.Status, end.ErrorCode, end.Error)
	}
	checkMix(h, m, model.requests(input + ", and then")[0])
}

// questions waits for what is asked about the calls; calls about which nothing is asked have no id.
func questions(h *apptest.Holdpoint, run apptest.RunView, m mix) []interaction.ID {
	h.T.Helper()
	ids := make([]interaction.ID, len(m.fates))
	want := 0
	for _, f := range m.fates {
		if f.asks() {
			want++
		}
	}
	h.Eventually(fmt.Sprintf("%d questions of %s", want, m), func() bool {
		got := eventsOf[interaction.Request](h, run.RunID, event.InteractionRequest)
		for _, q := range got {
			for i := range m.fates {
				if string(q.ToolCallID) == fmt.Sprintf("%s-1-%d", run.RunID, i+1) {
					ids[i] = q.ID
				}
			}
		}
		return len(got) == want
	})
	return ids
}

func answerTogether(h *apptest.Holdpoint, m mix, asked []interaction.ID) {
	h.T.Helper()
	var batch []map[string]any
	for _, i := range m.order {
		if body := fates[m.fates[i]].answer; body != nil {
			one := map[string]any{"request_id": asked[i]}
			for k, v := range body {
				one[k] = v
			}
			batch = append(batch, one)
		}
	}
	if len(batch) == 0 {
		return
	}
	if code, out := h.HTTP("POST", "/v1/interactions/respond", map[string]any{"responses": batch}); code != http.StatusOK || strings.Contains(string(out), `"problem"`) {
		h.T.Fatalf("%s: the batch was answered %d %s", m, code, out)
	}
}

// answerInOrder answers one after the other. Before the run is stopped it waits for what was answered to be done;
// afterwards it sees that no answer is taken any more.
func answerInOrder(h *apptest.Holdpoint, run apptest.RunView, m mix, asked []interaction.ID) {
	h.T.Helper()
	stop := m.stops()
	for at, i := range m.order {
		f := m.fates[i]
		switch {
		case at > stop:
			h.Ended(run.RunID)
			if body := fates[f].answer; body != nil {
				refusedWith(h, asked[i], body, http.StatusConflict)
			}
			continue
		case f == fateAbort:
			controlRun(h, run.RunID, "enough")
			continue
		case fates[f].answer != nil:
			if code, out := h.Respond(asked[i], fates[f].answer); code != http.StatusOK && code != http.StatusAccepted {
				h.T.Fatalf("%s: %s was answered %d %s", m, f, code, out)
			}
		}
		if stop < len(m.order) && !f.stops() {
			call := interaction.CallID(fmt.Sprintf("%s-1-%d", run.RunID, i+1))
			h.Eventually(fmt.Sprintf("%s: the result of %s", m, f), func() bool { return resultOf(h, run.RunID, call) != nil })
		}
	}
}

// checkMix holds the request that follows a mix to what a provider demands and to what people decided.
func checkMix(h *apptest.Holdpoint, m mix, req llm.Request) {
	h.T.Helper()
	if err := llm.CheckPairing(req.Messages); err != nil {
		h.T.Errorf("%s: %v", m, err)
	}
	results := toolMessages(req)
	if len(results) != len(m.fates) {
		h.T.Errorf("%s: %d results for %d calls", m, len(results), len(m.fates))
		return
	}
	stopped := map[int]bool{}
	if stop := m.stops(); stop < len(m.order) {
		for _, i := range m.order[stop+1:] {
			stopped[i] = true
		}
	}
	for n, res := range results {
		want := fates[m.fates[n]]
		status, words := want.status, want.words
		if stopped[n] && m.fates[n].asks() {
			status, words = tool.StatusAborted, "run ended"
		}
		expired := stopped[n] && m.fates[n] == fateTimeout && res.ToolStatus == string(tool.StatusExpired) // its time was up before
		if free := stopped[n] && m.fates[n] == fateAllow; free || expired {
			continue // it ran meanwhile, or was stopped
		}
		if res.ToolStatus != string(status) || !strings.Contains(res.Content, words) {
			h.T.Errorf("%s: call %d (%s) has the result %s: %s", m, n+1, m.fates[n], res.ToolStatus, res.Content)
		}
	}
}
