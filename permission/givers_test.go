package permission

import "testing"

func TestAGrantSatisfiesOnlyWhatItsGiversCouldApprove(t *testing.T) {
	t.Parallel()
	alice, bob, ops := Giver{ID: "alice"}, Giver{ID: "bob"}, Giver{ID: "carol", Groups: []string{"ops"}}
	for name, tc := range map[string]struct {
		givers []Giver
		need   Approval
		want   Effect
	}{
		"by who may write rules":   {nil, Approval{Reviewers: []string{"alice"}, Quorum: 2}, Allow},
		"anybody, by one":          {[]Giver{bob}, Approval{}, Allow},
		"by the one who is named":  {[]Giver{alice}, Approval{Reviewers: []string{"alice"}}, Allow},
		"by another":               {[]Giver{bob}, Approval{Reviewers: []string{"alice"}}, Ask},
		"by one of a group":        {[]Giver{ops}, Approval{Reviewers: []string{"group:ops"}}, Allow},
		"by one of two":            {[]Giver{alice}, Approval{Quorum: 2}, Ask},
		"by one, twice":            {[]Giver{alice, alice}, Approval{Quorum: 2}, Ask},
		"by two":                   {[]Giver{alice, bob}, Approval{Quorum: 2}, Allow},
		"by the requester":         {[]Giver{{ID: "u"}}, Approval{ExcludeRequester: true}, Ask},
		"by nobody with a name":    {[]Giver{{}}, Approval{}, Ask},
		"by one of a rung":         {[]Giver{bob}, Approval{Reviewers: []string{"alice"}, Escalate: []Escalation{{To: []string{"bob"}}}}, Allow},
		"a rung where anybody may": {[]Giver{bob}, Approval{Escalate: []Escalation{{To: []string{"alice"}}}}, Allow},
	} {
		tc.need.MaxGrant = GrantUser
		set, _, err := Compile([]Rule{
			{Effect: Ask, Pattern: "bash(ls)", Approval: tc.need, Source: Source{Layer: LayerPolicy}},
			{Effect: Allow, Pattern: "bash(ls)", UserID: "u", Givers: tc.givers, Source: Source{Layer: LayerUser}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if d := set.Decide(Call{Tool: BuiltinTool("bash"), Args: []byte(`{"command":"ls"}`), Workspace: "/w", UserID: "u"}); d.Effect != tc.want {
			t.Errorf("%s: %s", name, d.Effect)
		}
	}
}
