package builtin

import (
	"context"
	"strings"
	"testing"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// asked is the request that ask_human makes of the arguments.
func (b *bench) asked(a any) interaction.Request {
	b.t.Helper()
	out, err := b.tool(NameAskHuman).Run(context.Background(), b.call(NameAskHuman, a))
	if err != nil || out.Request == nil || out.Result != nil {
		b.t.Fatalf("got %+v %v, want a request", out, err)
	}
	return *out.Request
}

// answered is what ask_human makes of an answer.
func (b *bench) answered(a any, r interaction.Response) tool.Result {
	b.t.Helper()
	call := b.call(NameAskHuman, a)
	call.Answer = &r
	out, err := b.tool(NameAskHuman).Run(context.Background(), call)
	if err != nil || out.Result == nil || out.Request != nil {
		b.t.Fatalf("got %+v %v, want a result", out, err)
	}
	return *out.Result
}

func TestAskForText(t *testing.T) {
	b := setup(t)
	a := args{"question": "Which port?\nThe old one was 80.", "multiline": true}
	r := b.asked(a)
	if r.Type != interaction.TypeInput || r.Kind != interaction.KindTool || !r.Required || !r.Multiline || r.Multiple ||
		r.Title != "Which port?" || r.Message != "Which port?\nThe old one was 80." {
		t.Errorf("got %+v", r)
	}
	wantText(t, b.answered(a, interaction.Response{Action: interaction.ActionAnswer, Text: "8080\nplease"}), tool.StatusSuccess, "8080\nplease")
	wantPart(t, b.answered(a, interaction.Response{Action: interaction.ActionAnswer, Text: " \n"}), tool.StatusError, "no answer")
}

func TestAskToChoose(t *testing.T) {
	b := setup(t)
	one := args{"question": "Which?", "options": []string{"red", "green", "blue"}}
	many := args{"question": "Which?", "options": []string{"red", "green", "blue"}, "multiple": true}
	r := b.asked(one)
	if r.Type != interaction.TypeSelect || r.Multiple || !b.asked(many).Multiple || !r.Required {
		t.Errorf("got %+v", r)
	}
	var choices []string
	for _, o := range r.Options {
		if o.Action == interaction.ActionAnswer {
			choices = append(choices, o.ID+"="+o.Label)
		}
	}
	if got := strings.Join(choices, " "); got != "option_1=red option_2=green option_3=blue" {
		t.Errorf("got %s", got)
	}
	sel := func(ids ...string) interaction.Response {
		return interaction.Response{Action: interaction.ActionAnswer, Selected: ids}
	}
	wantText(t, b.answered(one, sel("option_2")), tool.StatusSuccess, "green")
	wantText(t, b.answered(one, interaction.Response{OptionID: "option_3"}), tool.StatusSuccess, "blue")
	wantText(t, b.answered(many, sel("option_3", "option_1")), tool.StatusSuccess, "red\nblue")
	wantPart(t, b.answered(one, sel()), tool.StatusError, "chose nothing")
	wantPart(t, b.answered(one, sel("option_1", "option_2")), tool.StatusError, "one was asked for")
	wantPart(t, b.answered(one, sel("option_4")), tool.StatusError, "not offered")
	wantPart(t, b.answered(many, sel("option_1", "red")), tool.StatusError, "not offered")
}

// What people can answer by the interaction's own rules must make a result.
func TestAskedRequestsAreAnswerable(t *testing.T) {
	b := setup(t)
	for _, tt := range []struct {
		args args
		resp interaction.Response
	}{
		{args{"question": "q"}, interaction.Response{Text: "x"}},
		{args{"question": "q", "options": []string{"a", "b"}}, interaction.Response{Selected: []string{"option_2"}}},
		{args{"question": "q", "options": []string{"a", "b"}}, interaction.Response{OptionID: "option_1"}},
		{args{"question": "q", "options": []string{"a", "b"}, "multiple": true}, interaction.Response{Selected: []string{"option_1", "option_2"}}},
	} {
		r := b.asked(tt.args)
		r.ID, tt.resp.ID, tt.resp.RequestID = "c-1", "r", "c-1"
		tt.resp.Reviewer.ID = "someone"
		i := interaction.Interaction{Request: r.Brief(), Status: interaction.StatusPending}
		if err := i.Check(tt.resp, r.CreatedAt); err != nil {
			t.Errorf("%v: %v", tt.args, err)
		}
		if got := b.answered(tt.args, tt.resp); got.Status != tool.StatusSuccess {
			t.Errorf("%v: %+v", tt.args, got)
		}
	}
}

func TestOnlyAnAnswerIsOne(t *testing.T) {
	b := setup(t)
	for _, action := range []interaction.Action{interaction.ActionApprove, interaction.ActionReject, interaction.ActionSkip, "unheard_of"} {
		got := b.answered(args{"question": "q"}, interaction.Response{Action: action, Text: "yes", Feedback: "not now"})
		wantPart(t, got, tool.StatusError, string(action), "not now")
	}
}

func TestAskRefuses(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxQuestion+1)
	for _, tt := range []struct {
		args args
		want string
	}{
		{args{}, "question is empty"},
		{args{"question": " "}, "question is empty"},
		{args{"question": long}, "at most 4096"},
		{args{"question": "q", "options": []string{}}, "give 2 to 20"},
		{args{"question": "q", "options": []string{"a"}}, "give 2 to 20"},
		{args{"question": "q", "options": strings.Split(strings.Repeat("a,", 21), ",")}, "give 2 to 20"},
		{args{"question": "q", "options": []string{"a", "b", "A "}}, "options[2] is the same as options[0]"},
		{args{"question": "q", "options": []string{"a", " "}}, "options[1] is empty"},
		{args{"question": "q", "options": []string{"a", long}}, "options[1] has"},
		{args{"question": "q", "options": []string{"a", "b\nc"}}, "options[1] has a line break"},
		{args{"question": "q", "multiple": true}, "multiple goes with options"},
		{args{"question": "q", "options": []string{"a", "b"}, "multiline": true}, "multiline goes without"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			wantPart(t, setup(t).run(NameAskHuman, tt.args), tool.StatusError, tt.want)
		})
	}
}

func TestATitleIsShortAndHidesNothing(t *testing.T) {
	b := setup(t)
	r := b.asked(args{"question": "\nżółć \u202e" + strings.Repeat("🙂", 100) + "\nmore"})
	if len(r.Title) > interaction.MaxTitleBytes || !strings.HasPrefix(r.Title, `żółć \u202e🙂`) || !strings.HasSuffix(r.Title, "🙂…") {
		t.Errorf("got %q", r.Title)
	}
}
