package api_test

import (
	"testing"

	"holdpoint/interaction"
	"holdpoint/workflows"
)

func TestWhoMayAnswer(t *testing.T) {
	t.Parallel()
	forOps := func(i *interaction.Interaction) { i.Request.Reviewers = []string{"group:ops"} }
	for who, status := range map[string]int{"rex": 200, "rob": 404, "uma": 403, "udo": 404, "nil": 404, "ada": 403, "bot": 404, "": 401, "mallory": 401, "broken": 503} {
		b := setup(t)
		b.park("r1", "i1", forOps)
		if a := b.do(who, "POST", respondPath, `{"action":"approve"}`); a.status != status {
			t.Errorf("%s: %d %s; want %d", who, a.status, a.raw, status)
		}
	}
}

func TestWhoMayActForAnother(t *testing.T) {
	t.Parallel()
	const forZoe = `{"action":"approve","reviewer":{"id":"zoe","groups":["ops"],"roles":["admin"]}}`
	for who, status := range map[string]int{"ada": 200, "bot": 200, "pia": 403, "rex": 403, "rob": 404, "udo": 404} {
		b := setup(t)
		b.park("r1", "i1", func(i *interaction.Interaction) { i.Request.Reviewers = []string{"group:ops"} })
		if a := b.do(who, "POST", respondPath, forZoe); a.status != status {
			t.Errorf("%s answers for zoe: %d %s; want %d", who, a.status, a.raw, status)
		}
		if status == 200 {
			if r := b.temporal.updates[0].Args[0].(workflows.RespondMessage).Responses[0].Reviewer; r.ID != "zoe" || r.Roles != nil {
				t.Errorf("%s: forwarded %+v", who, r)
			}
		}
	}
	for who, status := range map[string]int{"ada": 201, "bot": 201, "pia": 403, "uma": 403} {
		b := setup(t)
		if a := b.do(who, "POST", "/v1/runs", `{"agent":"fixer","user_id":"zoe","input":"go"}`); a.status != status {
			t.Errorf("%s starts a run for zoe: %d %s; want %d", who, a.status, a.raw, status)
		}
	}
}

// TestHoldingIsForThoseWhoMayAnswer has one question answered and controlled by everybody: what is about the question
// is refused by each road to the same people.
func TestHoldingIsForThoseWhoMayAnswer(t *testing.T) {
	t.Parallel()
	for reviewers, want := range map[string]map[string]bool{
		"":          {"rex": true, "rob": true, "ada": true, "uma": false, "udo": false, "nil": false},
		"group:ops": {"rex": true, "rob": false, "uma": false, "udo": false, "nil": false},
	} {
		for who, may := range want {
			b := setup(t)
			b.park("r1", "i1", func(i *interaction.Interaction) {
				if reviewers != "" {
					i.Request.Reviewers = []string{reviewers}
				}
			})
			answered := b.do(who, "POST", respondPath, `{"action":"pause"}`)
			for _, action := range []string{"pause", "resume", "lift_rejection"} {
				a := b.do(who, "POST", "/v1/runs/r1/control", `{"action":"`+action+`","interaction_id":"i1"}`)
				if (a.status == 200) != may || (answered.status == 200) != may {
					t.Errorf("reviewers %q: %s: %s by control %d, by an answer %d; may: %v", reviewers, who, action, a.status, answered.status, may)
				}
			}
			if a := b.do(who, "POST", "/v1/runs/r1/control", `{"action":"abort_run"}`); (a.status == 200) != (who == "uma" || who == "ada") {
				t.Errorf("%s stops the run: %d", who, a.status)
			}
		}
	}
}

func TestAnAdminActsForAnother(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("r1", "i1", func(i *interaction.Interaction) { i.Request.Reviewers = []string{"group:ops"} })
	if a := b.do("ada", "POST", respondPath, `{"action":"approve","reviewer":{"id":"zoe","groups":["ops"]}}`); a.status != 200 {
		t.Fatal(a.raw)
	}
	if r := b.temporal.updates[0].Args[0].(workflows.RespondMessage).Responses[0]; r.Reviewer.ID != "zoe" {
		t.Errorf("forwarded %+v", r.Reviewer)
	}
}
