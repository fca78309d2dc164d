package interaction

import "testing"

func TestQuestionsShareTheUsualOptions(t *testing.T) {
	t.Parallel()
	one, other := StandardOptions(KindPermission, TypeToolApproval), StandardOptions(KindPermission, TypeToolApproval)
	if got := kept(one); &got[0] != &usual[0] {
		t.Error("the usual options are kept twice")
	}
	other[0].Dangerous = true
	if got := kept(other); &got[0] == &other[0] || !got[0].Dangerous || usual[0].Dangerous {
		t.Error("options of its own are taken from a question")
	}
	named := StandardOptions(KindPermission, TypeToolApproval)
	named[1].Metadata = map[string]string{"k": "v"}
	if got := kept(named); got[1].Metadata == nil {
		t.Error("what an option says beside is lost")
	}
	if got := kept(one[:2]); len(got) != 2 {
		t.Error("an option is added")
	}
}
