package interaction_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"holdpoint/interaction"
)

// answers decodes a response as it comes from outside, addressed to the interaction of these tests.
func answers(t *testing.T, body string) interaction.Response {
	t.Helper()
	r, err := interaction.DecodeResponse([]byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	r.RequestID = "run-1-0-1"
	return r
}

type shapeCase struct {
	name, body, field, message string // no message: accepted
}

func runShapes(t *testing.T, i interaction.Interaction, cases []shapeCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := i.Check(answers(t, tt.body), t0)
			if tt.message == "" {
				wantError(t, err, "", "", "")
				return
			}
			code := interaction.CodeInvalid
			if strings.Contains(tt.message, "bytes; at most") {
				code = interaction.CodeTooLarge
			}
			wantError(t, err, code, tt.field, tt.message)
		})
	}
}

func TestToolApprovalShapes(t *testing.T) {
	t.Parallel()
	sum := strings.Repeat("0a", 32)
	long := strings.Repeat("x", interaction.MaxNoteBytes+1)
	runShapes(t, approval(nil), []shapeCase{
		{"nothing", `{}`, "action", "is missing: say what to do, by action or option_id; offered are approve, modify_args, reject, retry, skip, answer, terminate"},
		{"words alone approve nothing", `{"text":"sure, go on"}`, "action", "is missing"},
		{"confirmed alone approves nothing", `{"confirmed":true}`, "action", "is missing"},
		{"approve", `{"action":"approve"}`, "", ""},
		{"approve by option", `{"option_id":"approve"}`, "", ""},
		{"approve by both", `{"option_id":"approve","action":"approve"}`, "", ""},
		{"both that differ", `{"option_id":"reject","action":"approve"}`, "action", `is approve, but option "reject" stands for reject`},
		{"an option that is not there", `{"option_id":"yes"}`, "option_id", `"yes" names 0 options; use one of "approve, modify_args, reject, retry, skip, answer, terminate"`},
		{"approve with a note", `{"action":"approve","note":"checked\twith ops\r\nby phone","feedback":"ok"}`, "", ""},
		{"approve with other arguments", `{"action":"approve","args":{"command":"ls"}}`, "args", "does not go with approve on a tool_approval request; only modify_args changes arguments"},
		{"approve with null arguments", `{"action":"approve","args":null,"data":null}`, "", ""},
		{"approve with a reference", `{"action":"approve","args_ref":"r"}`, "args_ref", "only modify_args"},
		{"approve with a digest of arguments", `{"action":"approve","args_digest":"` + sum + `"}`, "args_digest", "only modify_args"},
		{"approve with confirmed false", `{"action":"approve","confirmed":false}`, "confirmed", "leave it out"},
		{"approve with text", `{"action":"approve","text":"ok"}`, "text", "put remarks in feedback or note"},
		{"approve with data", `{"action":"approve","data":1}`, "data", "leave it out"},
		{"approve with choices", `{"action":"approve","selected":["a"]}`, "selected", "leave it out"},
		{"approve with parts", `{"action":"approve","responses":[{}]}`, "responses", "leave it out"},

		{"edit", `{"action":"modify_args","args":{"command":"ls"}}`, "", ""},
		{"edit to no arguments", `{"action":"modify_args","args":{}}`, "", ""},
		{"edit without arguments", `{"action":"modify_args"}`, "args", "are missing"},
		{"edit with null", `{"action":"modify_args","args":null}`, "args", "are missing"},
		{"edit with a list", `{"action":"modify_args","args":["ls"]}`, "args", "must be a JSON object, not a list"},
		{"edit with a string", `{"action":"modify_args","args":"{}"}`, "args", `must be a JSON object, not the string "{}"`},
		{"edit by reference", `{"action":"modify_args","args_ref":"resp-1","args_digest":"` + sum + `"}`, "", ""},
		{"edit by reference and null", `{"action":"modify_args","args":null,"args_ref":"resp-1","args_digest":"` + sum + `"}`, "", ""},
		{"edit by both", `{"action":"modify_args","args":{},"args_ref":"resp-1","args_digest":"` + sum + `"}`, "args", "come twice"},
		{"edit with a digest alone", `{"action":"modify_args","args_digest":"` + sum + `"}`, "args_ref", "is missing"},
		{"edit with a reference alone", `{"action":"modify_args","args_ref":"resp-1"}`, "args_digest", "must be the SHA-256"},
		{"edit with a short digest", `{"action":"modify_args","args_ref":"resp-1","args_digest":"0a"}`, "args_digest", "must be the SHA-256"},
		{"edit with an upper-case digest", `{"action":"modify_args","args_ref":"resp-1","args_digest":"` + strings.ToUpper(sum) + `"}`, "args_digest", "lowercase"},

		{"reject", `{"action":"reject"}`, "", ""},
		{"reject with a reason", `{"action":"reject","feedback":"use the staging host"}`, "", ""},
		{"reject with too long a reason", `{"action":"reject","feedback":"` + long + `"}`, "feedback", "has 4097 bytes; at most 4096"},
		{"reject with too long a note", `{"action":"reject","note":"` + long + `"}`, "note", "has 4097 bytes; at most 4096"},
		{"reject with a NUL", `{"action":"reject","feedback":"a\u0000b"}`, "feedback", `has the character '\x00'`},
		{"reject with an escape sequence", `{"action":"reject","note":"\u001b[2K"}`, "note", `has the character '\x1b'`},
		{"reject with a lone carriage return", `{"action":"reject","note":"a\rb"}`, "note", `has the character '\r'`},
		{"reject with a C1 control", `{"action":"reject","note":"\u009b"}`, "note", `has the character '\u009b'`},
		{"retry", `{"action":"retry","feedback":"look at the log first"}`, "", ""},
		{"skip", `{"action":"skip"}`, "", ""},
		{"stop", `{"option_id":"terminate"}`, "", ""},
		{"answer", `{"action":"answer","text":"v1.2 is out\nsince noon"}`, "", ""},
		{"answer with nothing", `{"action":"answer","text":" \n"}`, "text", "is missing: write the answer"},
		{"answer with a bell", `{"action":"answer","text":"\u0007"}`, "text", `'\a'`},
	})
}

func TestArgumentsAreHeldToTheStrictRules(t *testing.T) {
	t.Parallel()
	r := says("ada", interaction.ActionModifyArgs)
	r.Args = json.RawMessage(`{"to":"a","to":"b"}`)
	wantError(t, approval(nil).Check(r, t0), interaction.CodeInvalid, "args.to", "comes twice")
}

func TestTextsThatAreNotUTF8(t *testing.T) {
	t.Parallel()
	r := says("ada", interaction.ActionReject)
	r.Feedback = "a\xffb"
	wantError(t, approval(nil).Check(r, t0), interaction.CodeInvalid, "feedback", "not UTF-8")
}

func TestOptionsOfOnesOwn(t *testing.T) {
	t.Parallel()
	runShapes(t, approval(func(r *interaction.Request) {
		r.Options = []interaction.Option{
			{ID: "careful", Action: interaction.ActionApprove, RequiresInput: true},
			{ID: "twice", Action: interaction.ActionReject},
			{ID: "twice", Action: interaction.ActionApprove},
		}
	}), []shapeCase{
		{"words where an option needs them", `{"option_id":"careful","note":"change ticket 7"}`, "", ""},
		{"no words where an option needs them", `{"option_id":"careful","note":"  "}`, "feedback", `option "careful" needs a few words`},
		{"no words, by action", `{"action":"approve"}`, "feedback", "needs a few words"},
		{"an ambiguous option", `{"option_id":"twice"}`, "option_id", `"twice" names 2 options`},
		{"an action that is not offered", `{"action":"skip"}`, "action", "skip is not offered; offered are approve, reject"},
	})
}

func question(kind interaction.Type, change func(*interaction.Request)) interaction.Interaction {
	return approval(func(r *interaction.Request) {
		r.Type = kind
		if change != nil {
			change(r)
		}
	})
}

func TestConfirmShapes(t *testing.T) {
	t.Parallel()
	runShapes(t, question(interaction.TypeConfirm, nil), []shapeCase{
		{"yes", `{"confirmed":true}`, "", ""},
		{"no", `{"action":"answer","confirmed":false}`, "", ""},
		{"neither", `{"action":"answer"}`, "confirmed", "is missing: say true or false"},
		{"words", `{"action":"answer","text":"yes"}`, "text", "does not go with answer on a confirm request"},
		{"skip", `{"action":"skip"}`, "", ""},
		{"approve is no answer to it", `{"action":"approve"}`, "action", "offered are answer, skip, terminate"},
	})
}

func colours(r *interaction.Request) {
	r.Options = append([]interaction.Option{{ID: "red"}, {ID: "green"}, {ID: "blue"}},
		interaction.StandardOptions("", interaction.TypeSelect)...)
}

func TestSelectShapes(t *testing.T) {
	t.Parallel()
	one := question(interaction.TypeSelect, func(r *interaction.Request) { colours(r); r.Required = true })
	runShapes(t, one, []shapeCase{
		{"one", `{"selected":["red"]}`, "", ""},
		{"one by option", `{"option_id":"green"}`, "", ""},
		{"one by both", `{"option_id":"green","selected":["green"]}`, "", ""},
		{"two that differ", `{"option_id":"green","selected":["red"]}`, "option_id", `"green" is not among selected`},
		{"two of one", `{"selected":["red","blue"]}`, "selected", "has 2 choices; only one may be chosen"},
		{"none", `{"action":"answer"}`, "selected", `is empty: choose from "red, green, blue"`},
		{"one that is not there", `{"selected":["pink"]}`, "selected[0]", `"pink" is not among the choices; they are "red, green, blue"`},
		{"an option that is no choice", `{"selected":["skip"]}`, "selected[0]", `"skip" is not among the choices`},
		{"skip", `{"option_id":"skip"}`, "", ""},
		{"skip with a choice", `{"option_id":"skip","selected":["red"]}`, "selected", "does not go with skip"},
	})
	several := question(interaction.TypeSelect, func(r *interaction.Request) { colours(r); r.Multiple = true })
	runShapes(t, several, []shapeCase{
		{"several", `{"selected":["blue","red"]}`, "", ""},
		{"one twice", `{"selected":["red","red"]}`, "selected[1]", `"red" is chosen twice`},
		{"none where none is required", `{"action":"answer"}`, "", ""},
	})
}

func TestAChoiceByOptionIsKeptAsSelected(t *testing.T) {
	t.Parallel()
	i := question(interaction.TypeSelect, colours)
	out := mustApply(t, &i, answers(t, `{"option_id":"green"}`), t0)
	if out.Action != interaction.ActionAnswer || !slices.Equal(out.Responses[0].Selected, []string{"green"}) {
		t.Errorf("outcome %+v", out)
	}
}

func TestInputShapes(t *testing.T) {
	t.Parallel()
	runShapes(t, question(interaction.TypeInput, func(r *interaction.Request) { r.Required = true }), []shapeCase{
		{"a line", `{"text":"eu-west-1"}`, "", ""},
		{"nothing", `{"action":"answer"}`, "text", "is missing"},
		{"two lines", `{"text":"a\nb"}`, "text", "must be one line"},
	})
	runShapes(t, question(interaction.TypeInput, func(r *interaction.Request) { r.Multiline = true }), []shapeCase{
		{"lines", `{"text":"a\r\nb"}`, "", ""},
		{"nothing where nothing is required", `{"action":"answer"}`, "", ""},
	})
	runShapes(t, question(interaction.TypeMissingInfo, nil), []shapeCase{
		{"info", `{"text":"the account is 7"}`, "", ""},
		{"no info", `{"action":"answer"}`, "text", "is missing"},
		{"provided", `{"action":"provide_info","data":{"account":7}}`, "", ""},
		{"provided without a word for it", `{"data":{"account":7}}`, "", ""},
		{"provided as the option", `{"option_id":"provide","text":"7"}`, "", ""},
		{"nothing provided", `{"action":"provide_info"}`, "text", "is missing"},
		{"a reference of one's own", `{"action":"provide_info","text":"7","secret_ref":"r"}`, "secret_ref", "they are the bridge's"},
	})
	runShapes(t, question(interaction.TypeCustom, nil), []shapeCase{
		{"data", `{"action":"answer","data":{"rows":[1,2]}}`, "", ""},
		{"text", `{"action":"answer","text":"as before"}`, "", ""},
		{"neither", `{"action":"answer","data":null}`, "text", "is missing"},
		{"data without an action", `{"data":1}`, "action", "is missing"},
	})
	own := func(r *interaction.Request) {
		r.Kind = interaction.KindTool
		r.Options = []interaction.Option{{ID: "reroute", Action: interaction.ActionCustom, RequiresInput: true}, {ID: "skip", Action: interaction.ActionSkip}}
	}
	runShapes(t, question(interaction.TypeCustom, own), []shapeCase{
		{"a tool's own action", `{"action":"custom","data":{"via":"B"}}`, "", ""},
		{"as its option", `{"option_id":"reroute","text":"via B"}`, "", ""},
		{"with words for it alone", `{"option_id":"reroute","note":"via B"}`, "", ""},
		{"without what it needs", `{"action":"custom"}`, "feedback", "is missing"},
		{"with arguments", `{"action":"custom","args":{"a":1}}`, "args", "does not go with custom"},
	})
	runShapes(t, question(interaction.TypeInput, func(r *interaction.Request) { own(r); r.Secret = true }), []shapeCase{
		{"a tool's own action on a secret", `{"action":"custom"}`, "action", "is not offered"},
	})
	runShapes(t, question("poll", nil), []shapeCase{
		{"a type from elsewhere implies nothing", `{"text":"x"}`, "action", "is missing"},
	})
}

func TestDataIsHeldToTheStrictRules(t *testing.T) {
	t.Parallel()
	i := question(interaction.TypeCustom, nil)
	for data, at := range map[string]string{`{"a":1,"a":2}`: "data.a", `[{"a":1,"a":2}]`: "data[0].a", `"` + "\xff" + `"`: "data"} {
		r := says("ada", interaction.ActionAnswer)
		r.Data = json.RawMessage(data)
		wantError(t, i.Check(r, t0), interaction.CodeInvalid, at, "")
	}
}

func TestCombinedShapes(t *testing.T) {
	t.Parallel()
	i := question(interaction.TypeCombined, func(r *interaction.Request) {
		r.Interactions = []interaction.Request{
			{ID: "q1", Type: interaction.TypeConfirm, Required: true},
			{ID: "q2", Type: interaction.TypeSelect, Options: []interaction.Option{{ID: "red"}, {ID: "none", Action: interaction.ActionSkip}}},
			{ID: "q3", Type: interaction.TypeInput},
		}
	})
	runShapes(t, i, []shapeCase{
		{"all", `{"responses":[{"confirmed":true},{"selected":["red"]},{"request_id":"q3","text":"x"}]}`, "", ""},
		{"all but what may be skipped", `{"action":"answer","responses":[{"confirmed":true},{"option_id":"none"},{"action":"skip"}]}`, "", ""},
		{"too few", `{"responses":[{"confirmed":true}]}`, "responses", "has 1 answers for 3 questions"},
		{"none", `{"action":"answer"}`, "responses", "has 0 answers for 3 questions"},
		{"a part out of order", `{"responses":[{"request_id":"q2","confirmed":true},{},{}]}`, "responses[0].request_id", `is "q2", but the question here is "q1"`},
		{"a part of the wrong shape", `{"responses":[{"text":"yes"},{},{}]}`, "responses[0].text", "does not go with answer on a confirm request"},
		{"a part that lacks its answer", `{"responses":[{},{},{}]}`, "responses[0].confirmed", "is missing"},
		{"a part with an unknown choice", `{"responses":[{"confirmed":true},{"selected":["pink"]},{}]}`, "responses[1].selected[0]", `"pink"`},
		{"a part with an unknown option", `{"responses":[{"confirmed":true},{"option_id":"pink"},{}]}`, "responses[1].option_id", `"pink" names 0 options`},
		{"a part with an unknown action", `{"responses":[{"action":"\u0007"},{},{}]}`, "responses[0].action", `"\a" is no action`},
		{"a part with a control character", `{"responses":[{"confirmed":true},{},{"text":"\u0007"}]}`, "responses[2].text", "has the character"},
		{"a required part that is skipped", `{"responses":[{"action":"skip"},{},{}]}`, "responses[0].action", `"skip" can't be given to one of several`},
		{"a part that would end the run", `{"responses":[{"action":"terminate"},{},{}]}`, "responses[0].action", `"terminate" can't be given`},
		{"skip all", `{"action":"skip"}`, "", ""},
	})
	approve := question(interaction.TypeCombined, func(r *interaction.Request) {
		r.Interactions = []interaction.Request{{ID: "q", Type: interaction.TypeToolApproval, Options: i.Request.Options}}
	})
	runShapes(t, approve, []shapeCase{
		{"an approval hidden among questions", `{"responses":[{"action":"answer","text":"yes"}]}`, "responses[0].action", `"answer" can't be given`},
	})
}

func TestCombinedInCombined(t *testing.T) {
	t.Parallel()
	i := question(interaction.TypeCombined, func(r *interaction.Request) {
		r.Interactions = []interaction.Request{
			{ID: "sure", Type: interaction.TypeConfirm},
			{ID: "where", Type: interaction.TypeCombined, Required: true, Interactions: []interaction.Request{
				{ID: "region", Type: interaction.TypeSelect, Required: true, Options: []interaction.Option{{ID: "eu"}, {ID: "us"}}},
				{ID: "note", Type: interaction.TypeInput},
			}},
		}
	})
	runShapes(t, i, []shapeCase{
		{"all", `{"responses":[{"confirmed":true},{"responses":[{"option_id":"eu"},{"text":"x"}]}]}`, "", ""},
		{"a part of a part is missing", `{"responses":[{"confirmed":true},{"responses":[{"option_id":"eu"}]}]}`, "responses[1].responses", "has 1 answers for 2 questions"},
		{"a part of a part is wrong", `{"responses":[{"confirmed":true},{"responses":[{"selected":["mars"]},{"text":"x"}]}]}`, "responses[1].responses[0].selected[0]", `"mars"`},
		{"a part of a part has another's answer", `{"responses":[{"confirmed":true},{"responses":[{"option_id":"eu"},{"confirmed":true}]}]}`, "responses[1].responses[1].confirmed", "does not go with"},
		{"arguments deep inside", `{"responses":[{"confirmed":true},{"responses":[{"option_id":"eu"},{"text":"x","args":{}}]}]}`, "responses[1].responses[1].args", "does not go with"},
		{"a required part is skipped", `{"responses":[{"confirmed":true},{"action":"skip"}]}`, "responses[1].action", "can't be given"},
	})
	out := mustApply(t, &i, answers(t, `{"responses":[{"confirmed":true},{"responses":[{"option_id":"eu"},{"text":"x"}]}]}`), t0)
	if kept := out.Responses[0].Responses[1].Responses[0]; !slices.Equal(kept.Selected, []string{"eu"}) || kept.Action != interaction.ActionAnswer {
		t.Errorf("kept as %+v", kept)
	}
}

func TestPartsAreKeptResolvedAndTheCallersStayAsTheyWere(t *testing.T) {
	t.Parallel()
	i := question(interaction.TypeCombined, func(r *interaction.Request) {
		r.Interactions = []interaction.Request{{ID: "q", Type: interaction.TypeSelect, Options: []interaction.Option{{ID: "red"}}}}
	})
	r := answers(t, `{"responses":[{"option_id":"red"}]}`)
	out := mustApply(t, &i, r, t0)
	part := out.Responses[0].Responses[0]
	if part.Action != interaction.ActionAnswer || !slices.Equal(part.Selected, []string{"red"}) {
		t.Errorf("kept as %+v", part)
	}
	if r.Responses[0].Action != "" || r.Responses[0].Selected != nil {
		t.Errorf("the caller's response was changed: %+v", r)
	}
}
