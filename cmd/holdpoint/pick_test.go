package main

import (
	"slices"
	"testing"

	"holdpoint/interaction"
)

func TestAChoiceIsNamedByItsIDOrByWhatItIsCalled(t *testing.T) {
	t.Parallel()
	answer := func(id, label string) interaction.Option {
		return interaction.Option{ID: id, Label: label, Action: interaction.ActionAnswer}
	}
	q := interaction.Request{Type: interaction.TypeSelect, Options: []interaction.Option{
		answer("one", "red"), answer("two", "one"), answer("three", "twice"), answer("four", "twice"), {ID: "skip", Label: "Skip", Action: interaction.ActionSkip},
	}}
	for name, want := range map[string]string{"one": "one", "red": "one", "two": "two", "three": "three", "twice": "", "skip": "", "Skip": "", "Red": "", "": ""} {
		typed := []string{name}
		resp := interaction.Response{Selected: typed}
		err := pick(q, "", &resp)
		if (err == nil) != (want != "") || err == nil && !slices.Equal(resp.Selected, []string{want}) {
			t.Errorf("%q picks %q, %v; it should be %q", name, resp.Selected, err, want)
		}
		if typed[0] != name {
			t.Errorf("what was typed became %q", typed[0])
		}
	}
	for action, resp := range map[string]interaction.Response{"skip": {}, "": {OptionID: "one"}} {
		if err := pick(q, action, &resp); err != nil {
			t.Errorf("%q, %+v: %v", action, resp, err)
		}
	}
	if err := pick(interaction.Request{Type: interaction.TypeInput}, "", &interaction.Response{Text: "words"}); err != nil {
		t.Errorf("words for a question that takes them: %v", err)
	}
}
