package flow_test

import (
	"slices"
	"strings"
	"testing"

	"holdpoint/flow"
)

var scope = flow.Scope{Input: "go", Previous: "b", Iteration: 2, Outputs: map[string]string{"draft": "a {{input}}", "review": `{"score":7,"ok":true}`, "none": ""}}

func TestConditions(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]bool{
		`true`:                                   true,
		`outputs.draft contains "{{"`:            true,
		`outputs.none == ""`:                     true,
		`len(outputs.draft) > 100`:               false,
		`fromJSON(outputs.review).score >= 7`:    true,
		`fromJSON(outputs.review).ok and !false`: true,
		`iteration < 2 or previous == "b"`:       true,
		`lower(input) matches "^g.$"`:            true,
	} {
		if err := flow.CheckCondition(source, []string{"draft", "review", "none"}); err != nil {
			t.Errorf("%s: %v", source, err)
		}
		if got, err := flow.Holds(source, scope); err != nil || got != want {
			t.Errorf("%s holds: %t, %v", source, got, err)
		}
	}
}

func TestConditionsThatAreRefused(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		``:                             "unexpected token",
		`outputs.later == "x"`:         "unknown field later",
		`inptu == "x"`:                 "unknown name inptu",
		`input`:                        "expected bool",
		`now() == now()`:               "unknown name now",
		`len(map(1..9, "x")) > 0`:      "are not possible",
		`input == `:                    "unexpected token",
		`1..9 == nil`:                  "are not possible",
		`repeat(input, 1000000) != ""`: "unknown name repeat",
		strings.Repeat("true and ", 150) + "true": "bytes; at most",
		strings.Repeat("!", 300) + "true":         "exceeds maximum allowed nodes",
	} {
		if err := flow.CheckCondition(source, []string{"draft"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v, want %q", source, err, want)
		}
	}
	if got, err := flow.Holds(`fromJSON(outputs.draft).ok`, scope); err == nil || got {
		t.Errorf("an output that is no JSON: %t, %v", got, err)
	}
}

func TestTexts(t *testing.T) {
	t.Parallel()
	text := "{{iteration}}. {{ outputs.draft }} after {{previous}} for {{input}}{{outputs.none}}."
	if err := flow.CheckText(text, []string{"draft", "none"}); err != nil {
		t.Error(err)
	}
	if got := flow.Text(text, scope, 1000); got != "2. a {{input}} after b for go." {
		t.Errorf("the text is %q", got)
	}
	if got := flow.Text("{{outputs.draft}}é", scope, 12); got != "a {{input}}" {
		t.Errorf("the cut text is %q", got)
	}
	for bad, want := range map[string]string{"{{outputs.later}}": "no stage", "{{secrets}}": "is none of", "{{input": "without its", "{{}}": "is none of"} {
		if err := flow.CheckText(bad, []string{"draft"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestWhatAStageMayRead(t *testing.T) {
	t.Parallel()
	f := flow.Flow{Kind: flow.KindPipeline, Stages: []flow.Stage{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	for kind, want := range map[flow.Kind][]string{flow.KindPipeline: {"a"}, flow.KindLoop: {"a", "b", "c"}, flow.KindParallel: {}} {
		f.Kind = kind
		if got := f.Known(1); !slices.Equal(got, want) {
			t.Errorf("%s: the second stage may read %v", kind, got)
		}
	}
}

func FuzzCondition(f *testing.F) {
	for _, s := range []string{`outputs.a == "x"`, `fromJSON(input).x > 1`, `input matches "("`, `1..100000000 == nil`, "\x00"} {
		f.Add(s, "{}")
	}
	f.Fuzz(func(t *testing.T, source, text string) {
		if flow.CheckCondition(source, []string{"a"}) != nil {
			return
		}
		_, _ = flow.Holds(source, flow.Scope{Input: text, Previous: text, Outputs: map[string]string{"a": text}})
	})
}

func FuzzText(f *testing.F) {
	f.Add("{{input}} {{outputs.a}}", "x{{input}}")
	f.Add("{{ {{input}}", "é")
	f.Fuzz(func(t *testing.T, text, value string) {
		if flow.CheckText(text, []string{"a"}) != nil {
			return
		}
		if got := flow.Text(text, flow.Scope{Input: value, Outputs: map[string]string{"a": value}}, 500); len(got) > 500 {
			t.Errorf("%d bytes", len(got))
		}
	})
}
