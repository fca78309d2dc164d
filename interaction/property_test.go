package interaction_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"holdpoint/interaction"
)

// anyRequest draws requests of every shape of approval rule.
func anyRequest(rt *rapid.T) interaction.Request {
	r := interaction.Request{ID: "c-1", Title: "Run it", Digest: "sha256:ab", Requester: "ada"}
	r.Quorum = rapid.IntRange(-1, 3).Draw(rt, "quorum")
	r.ExcludeRequester = rapid.Bool().Draw(rt, "four eyes")
	r.OnTimeout = rapid.SampledFrom([]interaction.Action{"", "skip", "approve", "nonsense"}).Draw(rt, "on timeout")
	r.Kind = rapid.SampledFrom([]interaction.Kind{interaction.KindPermission, interaction.KindOutcomeUnknown}).Draw(rt, "kind")
	if rapid.Bool().Draw(rt, "named reviewers") {
		r.Reviewers = []string{"ada", "bo", "group:ops"}
	}
	if rapid.Bool().Draw(rt, "deadline") {
		r.ExpiresAt = t0.Add(10 * time.Minute)
	}
	return r
}

func anyResponse(rt *rapid.T) interaction.Response {
	r := interaction.Response{RequestID: rapid.SampledFrom([]interaction.ID{"c-1", "c-1", "c-1", "c-2"}).Draw(rt, "request")}
	r.Action = rapid.SampledFrom([]interaction.Action{"approve", "approve", "approve", "modify_args", "reject", "retry", "skip",
		"answer", "terminate", "pause", "explode", ""}).Draw(rt, "action")
	r.Digest = rapid.SampledFrom([]string{"", "sha256:ab", "sha256:ab", "sha256:cd"}).Draw(rt, "digest")
	r.Reviewer = rapid.SampledFrom([]interaction.Principal{person("ada"), person("bo"), person("cy", "ops"), person("di"), person("")}).Draw(rt, "reviewer")
	if r.Action == interaction.ActionModifyArgs {
		r.Args = json.RawMessage(rapid.SampledFrom([]string{`{"a":1}`, `[]`, ``}).Draw(rt, "args"))
	}
	if rapid.Bool().Draw(rt, "has text") {
		r.Text = "done"
	}
	if rapid.Bool().Draw(rt, "has time") {
		r.RespondedAt = t0.Add(time.Duration(rapid.IntRange(0, 20).Draw(rt, "answered at")) * time.Minute)
	}
	return r
}

func asJSON(rt *rapid.T, v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		rt.Fatal(err)
	}
	return string(b)
}

func TestWhateverComesInWhateverOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		i := interaction.Open(anyRequest(rt), t0)
		outcomes := 0
		final := ""
		for n := range rapid.IntRange(1, 12).Draw(rt, "messages") {
			now := t0.Add(time.Duration(n) * time.Minute)
			before := asJSON(rt, i)
			out, changed := step(rt, &i, now)
			after := asJSON(rt, i)
			if !changed && before != after {
				rt.Fatalf("a refused message changed %s to %s", before, after)
			}
			if out != nil {
				outcomes++
				checkOutcome(rt, i, *out)
				final = after
			}
			if i.Status.Final() != (outcomes == 1) || outcomes > 1 {
				rt.Fatalf("%d outcomes while %s", outcomes, i.Status)
			}
			if final != "" && after != final {
				rt.Fatalf("final %s became %s", final, after)
			}
		}
	})
}

// step does one thing to i and reports whether it was accepted.
func step(rt *rapid.T, i *interaction.Interaction, now time.Time) (*interaction.Outcome, bool) {
	switch rapid.IntRange(0, 9).Draw(rt, "what") {
	case 0:
		return i.Expire(now.Add(5 * time.Minute))
	case 1:
		return i.Cancel("the run ended", now)
	}
	r := anyResponse(rt)
	checked := i.Check(r, now)
	brief := *i
	brief.Request = i.Request.Brief()
	if short := brief.Check(r, now); fmt.Sprint(short) != fmt.Sprint(checked) {
		rt.Fatalf("whole request: %v; brief request: %v", checked, short)
	}
	out, err := i.Apply(r, now)
	if fmt.Sprint(err) != fmt.Sprint(checked) {
		rt.Fatalf("Check says %v, Apply %v", checked, err)
	}
	if _, typed := errors.AsType[*interaction.Error](err); err != nil && !typed {
		rt.Fatalf("error of type %T", err)
	}
	return out, err == nil
}

// checkOutcome counts by its own means what an approval needs.
func checkOutcome(rt *rapid.T, i interaction.Interaction, out interaction.Outcome) {
	if out.Status != i.Status || out.Action != i.Action {
		rt.Fatalf("outcome %+v of %+v", out, i)
	}
	if out.Action != interaction.ActionApprove && out.Action != interaction.ActionModifyArgs {
		return
	}
	approvers := map[interaction.PrincipalID]bool{}
	for _, r := range out.Responses {
		if i.Request.ExcludeRequester && r.Reviewer.ID == i.Request.Requester {
			rt.Fatalf("the requester's response was accepted: %+v", r)
		}
		if r.RequestID != i.Request.ID || (r.Digest != "" && r.Digest != i.Request.Digest) {
			rt.Fatalf("a response to something else was accepted: %+v", r)
		}
		approvers[r.Reviewer.ID] = true
	}
	if out.Status != interaction.StatusAnswered || len(approvers) < i.Request.QuorumNeeded() || len(approvers) != len(out.Responses) {
		rt.Fatalf("%s with %d approvers of %d: %+v", out.Action, len(approvers), i.Request.QuorumNeeded(), out)
	}
}
