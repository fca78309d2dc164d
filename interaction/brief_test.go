package interaction_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"holdpoint/interaction"
)

func TestBriefKeepsWhatDecidesAndShortensTheRest(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 5000)
	metadata := map[string]string{strings.Repeat("k", 300): "dropped for its key"}
	for n := range 10 {
		metadata[fmt.Sprint("key", n)] = long
	}
	r := approval(func(r *interaction.Request) {
		r.Title, r.Message, r.Details, r.Reason, r.MatchedRule = "x"+long, long, long, long, long
		r.Placeholder, r.ConfirmText, r.CancelText = long, long, long
		r.ToolArgs = json.RawMessage(`{"command":"` + long + `"}`)
		r.SuggestedPattern = []string{long}
		r.Metadata = metadata
		r.Reviewers, r.AgentPath = []string{"ada", "group:ops"}, []string{"root", "release"}
		r.Quorum, r.ExcludeRequester, r.Requester, r.ExpiresAt = 2, true, "cy", t0.AddDate(0, 0, 1)
		r.Interactions = []interaction.Request{{Message: long, Details: long}}
	}).Request
	b := r.Brief()

	if len(b.Title) > interaction.MaxTitleBytes || !utf8.ValidString(b.Title) || !strings.HasPrefix(r.Title, b.Title) {
		t.Errorf("title %q", b.Title)
	}
	if b.ToolArgs != nil || b.Details != "" || b.SuggestedPattern != nil || b.Interactions[0].Details != "" {
		t.Errorf("bulk is left: %+v", b)
	}
	if len(b.Message) > 200 || len(b.Interactions[0].Message) > 200 || len(b.Metadata) != 5 || len(b.Metadata["key0"]) > 200 {
		t.Errorf("texts are left whole: %+v", b)
	}
	if b.ID != r.ID || b.Digest != r.Digest || !reflect.DeepEqual(b.Reviewers, r.Reviewers) || b.Quorum != 2 || !b.ExcludeRequester ||
		b.Requester != "cy" || !b.ExpiresAt.Equal(r.ExpiresAt) || !reflect.DeepEqual(b.Actions(), r.Actions()) {
		t.Errorf("what decides was changed: %+v", b)
	}
	if want := (interaction.Option{ID: "modify_args", Action: interaction.ActionModifyArgs, RequiresInput: true}); !reflect.DeepEqual(b.Options[1], want) {
		t.Errorf("option %+v, want %+v", b.Options[1], want)
	}
	if size, _ := json.Marshal(b); len(size) > 6<<10 {
		t.Errorf("%d bytes for history", len(size))
	}
	b.Reviewers[0], b.Interactions[0].Title = "mallory", "changed"
	if r.Reviewers[0] != "ada" || r.Interactions[0].Title != "" || r.Details != long {
		t.Error("the brief shares memory with the request")
	}
}

func TestBriefOfLittleIsLittle(t *testing.T) {
	t.Parallel()
	b := interaction.Request{ID: "a-1", Metadata: map[string]string{strings.Repeat("k", 300): "v"}}.Brief()
	if b.Metadata != nil || len(b.Options) != 0 {
		t.Errorf("brief %+v", b)
	}
}

func TestStandardOptions(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind interaction.Kind
		of   interaction.Type
		want string
	}{
		{interaction.KindPermission, interaction.TypeToolApproval, "approve modify_args reject retry skip answer terminate"},
		{interaction.KindTool, interaction.TypeToolApproval, "approve modify_args reject retry skip answer terminate"},
		{interaction.KindOutcomeUnknown, interaction.TypeToolApproval, "run_again give_up stop"},
		{interaction.KindResult, interaction.TypeToolApproval, "approve redact withhold terminate"},
		{interaction.KindTool, interaction.TypeMissingInfo, "provide skip terminate"},
		{interaction.KindTool, interaction.TypeSelect, "skip terminate"},
		{interaction.KindTool, interaction.TypeInput, "answer skip terminate"},
		{interaction.KindTool, interaction.TypeConfirm, "answer skip terminate"},
	} {
		var ids []string
		for _, o := range interaction.StandardOptions(tt.kind, tt.of) {
			ids = append(ids, o.ID)
			if o.Default || o.Label == "" {
				t.Errorf("%s/%s: option %s is a default or has no label", tt.kind, tt.of, o.ID)
			}
			if o.Action == interaction.ActionReject && o.RequiresInput {
				t.Errorf("a rejection needs no reason")
			}
		}
		if got := strings.Join(ids, " "); got != tt.want {
			t.Errorf("%s/%s: %s, want %s", tt.kind, tt.of, got, tt.want)
		}
	}
	again := interaction.StandardOptions(interaction.KindOutcomeUnknown, interaction.TypeToolApproval)[0]
	if again.Action != interaction.ActionApprove || !again.Dangerous {
		t.Errorf("run again is %+v", again)
	}
}

func TestActionsComeInOrderAndOnce(t *testing.T) {
	t.Parallel()
	r := interaction.Request{Options: []interaction.Option{{Action: "reject"}, {Action: "approve"}, {Action: "reject"}, {Action: "pause"}, {Action: ""}}}
	if got := r.Actions(); !reflect.DeepEqual(got, []interaction.Action{"reject", "approve"}) {
		t.Errorf("actions %v", got)
	}
}

func TestValidate(t *testing.T) {
	t.Parallel()
	option := func(id string, a interaction.Action) interaction.Option { return interaction.Option{ID: id, Action: a} }
	for _, tt := range []struct {
		name           string
		change         func(*interaction.Request)
		field, message string
	}{
		{"no title", func(r *interaction.Request) { r.Title = " " }, "title", "it needs 1 to 200"},
		{"too long a title", func(r *interaction.Request) { r.Title = strings.Repeat("x", 201) }, "title", "has 201 bytes"},
		{"a type from elsewhere", func(r *interaction.Request) { r.Type = "poll" }, "type", `"poll" is no type`},
		{"nothing to do", func(r *interaction.Request) { r.Options = []interaction.Option{option("x", "pause")} }, "options", "offer nothing"},
		{"a negative quorum", func(r *interaction.Request) { r.Quorum = -1 }, "quorum", "is -1"},
		{"a deadline in the past", func(r *interaction.Request) { r.ExpiresAt = t0 }, "expires_at", "not after the creation"},
		{"too many options", func(r *interaction.Request) {
			r.Options = make([]interaction.Option, 101)
			r.Options[0].Action = "skip"
		}, "options", "has 101 entries"},
		{"an option without id", func(r *interaction.Request) { r.Options = []interaction.Option{option("", "skip")} }, "options[0].id", "must have 1 to 200 bytes"},
		{"an option with an odd id", func(r *interaction.Request) { r.Options = []interaction.Option{option("a\nb", "skip")} }, "options[0].id", "no control characters"},
		{"two options of one id", func(r *interaction.Request) {
			r.Options = []interaction.Option{option("a", "skip"), option("a", "approve")}
		}, "options[1].id", `"a" names two options`},
		{"an option of no action", func(r *interaction.Request) {
			r.Options = []interaction.Option{option("a", "skip"), option("b", "explode")}
		}, "options[1].action", `"explode" is no action`},
		{"a select without choices", func(r *interaction.Request) { r.Type = "select"; r.Options = []interaction.Option{option("a", "skip")} }, "options", "nothing to choose"},
		{"a select", func(r *interaction.Request) { r.Type = "select"; r.Options = []interaction.Option{option("a", "")} }, "", ""},
		{"a combined one without questions", func(r *interaction.Request) { r.Type = "combined" }, "interactions", "has 0 questions"},
		{"questions in one that is not combined", func(r *interaction.Request) { r.Interactions = make([]interaction.Request, 1) }, "interactions", "has 1 questions"},
		{"too many questions", func(r *interaction.Request) {
			r.Type, r.Interactions = "combined", make([]interaction.Request, 21)
		}, "interactions", "has 21 questions"},
		{"an approval among questions", func(r *interaction.Request) {
			r.Type, r.Interactions = "combined", []interaction.Request{{Type: "confirm"}, {Type: "tool_approval"}}
		}, "interactions[1].type", "ask it by itself"},
		{"a bad question", func(r *interaction.Request) {
			r.Type, r.Interactions = "combined", []interaction.Request{{Type: "select"}}
		}, "interactions[0].options", "nothing to choose"},
		{"too many questions inside one another", func(r *interaction.Request) {
			part := interaction.Request{Type: "combined", Interactions: make([]interaction.Request, 10)}
			r.Type, r.Interactions = "combined", []interaction.Request{part, part}
		}, "interactions", "has 22 questions"},
		{"questions too deep inside one another", func(r *interaction.Request) {
			part := interaction.Request{Type: "combined", Interactions: []interaction.Request{{Type: "confirm"}}}
			for range 3 {
				part = interaction.Request{Type: "combined", Interactions: []interaction.Request{part}}
			}
			r.Type, r.Interactions = "combined", []interaction.Request{part}
		}, "interactions[0].interactions[0].interactions[0].interactions[0].type", "at most 4 levels"},
		{"good questions", func(r *interaction.Request) {
			r.Type, r.Interactions = "combined", []interaction.Request{{Type: "confirm"}, {Type: "input"}}
		}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code := interaction.CodeInvalid
			if tt.message == "" {
				code = ""
			}
			wantError(t, approval(tt.change).Request.Validate(), code, tt.field, tt.message)
		})
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	args := `{ "command": "a < b && c > d", "n": 1.0 }`
	base := interaction.Digest("bash", []byte(args), "")
	if len(base) != len("sha256:")+64 || !strings.HasPrefix(base, "sha256:") {
		t.Fatalf("digest %q", base)
	}
	travelled, err := json.Marshal(json.RawMessage(args))
	if err != nil || string(travelled) == args {
		t.Fatalf("%s, %v", travelled, err)
	}
	if interaction.Digest("bash", travelled, "") != base {
		t.Error("the digest changed because the arguments were stored")
	}
	different := map[string]string{
		"tool":               interaction.Digest("bash2", []byte(args), ""),
		"base":               interaction.Digest("bash", []byte(args), "x"),
		"value":              interaction.Digest("bash", []byte(`{"command":"a < b && c > e","n":1.0}`), ""),
		"spelling of number": interaction.Digest("bash", []byte(`{"command":"a < b && c > d","n":1}`), ""),
		"order of keys":      interaction.Digest("bash", []byte(`{"n":1.0,"command":"a < b && c > d"}`), ""),
		"no arguments":       interaction.Digest("bash", nil, ""),
		"null":               interaction.Digest("bash", []byte("null"), ""),
		"no JSON":            interaction.Digest("bash", []byte("{"), ""),
		"moved border":       interaction.Digest("bas", []byte("h"), ""),
	}
	seen := map[string]string{base: "as it is"}
	for what, d := range different {
		if other, ok := seen[d]; ok {
			t.Errorf("%s and %s have one digest", what, other)
		}
		seen[d] = what
	}
	if interaction.Digest("t", nil, "") != interaction.Digest("t", []byte{}, "") {
		t.Error("no arguments have two digests")
	}
}

func TestVisible(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"make release":         "make release",
		"a\nb\tc":              `a\nb\tc`,
		"rm\u202e txt":         `rm\u202e txt`,
		"a\u200bb\u00a0c":      `a\u200bb\u00a0c`,
		"\x1b[2K":              `\u001b[2K`,
		"a\xffb\ufffd":         `a\xffb` + "\ufffd",
		"tag\U000e0041":        `tag\U000e0041`,
		"\u3164\ufe01\ufe0f x": `\u3164\ufe01` + "\ufe0f x",
		"grüße 日本 🙂":           "grüße 日本 🙂",
	} {
		if got := interaction.Visible(in); got != want {
			t.Errorf("Visible(%q) = %q, want %q", in, got, want)
		}
	}
	if got := interaction.VisibleLines("a\tb\n\x00c\r"); got != "a\tb\n"+`\u0000c\u000d` {
		t.Errorf("VisibleLines gave %q", got)
	}
}
