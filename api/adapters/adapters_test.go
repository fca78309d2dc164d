package adapters

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"holdpoint/interaction"
)

func approval() interaction.Request {
	return interaction.Request{ID: "r-1-0-1", RunID: "r", SessionID: "s", ToolCallID: "r-1-0", ToolName: "bash", ToolArgs: json.RawMessage(`{"command":"ls"}`),
		Type: interaction.TypeToolApproval, Kind: interaction.KindPermission, Title: "Run ls?", Options: interaction.StandardOptions(interaction.KindPermission, interaction.TypeToolApproval),
		SuggestedPattern: []string{"bash(ls)"}, MaxGrant: interaction.GrantUser, CreatedAt: time.Unix(0, 0)}
}

func question(t interaction.Type, choices ...string) interaction.Request {
	q := interaction.Request{ID: "q-1", Type: t, Title: "?", Required: true, Options: interaction.StandardOptions("", t)}
	for _, c := range choices {
		q.Options = append(q.Options, interaction.Option{ID: c, Label: c, Action: interaction.ActionAnswer})
	}
	return q
}

func TestEveryTypeIsAnsweredInTheAgioForm(t *testing.T) {
	t.Parallel()
	combined := question(interaction.TypeCombined)
	inner := question(interaction.TypeCombined)
	inner.ID, inner.Interactions = "n", []interaction.Request{question(interaction.TypeConfirm)}
	confirm, input := question(interaction.TypeSelect, "a", "b"), question(interaction.TypeInput)
	confirm.ID, input.ID = "c", "i"
	combined.Interactions = []interaction.Request{confirm, input, inner}
	for name, c := range map[string]struct {
		q    interaction.Request
		body string
		ok   bool
	}{
		"yes":            {approval(), `{"request_id":"x","type":"confirm","confirmed":true}`, true},
		"no":             {approval(), `{"request_id":"x","type":"confirm","confirmed":false}`, true},
		"neither":        {approval(), `{"request_id":"x","type":"confirm","confirmed":null}`, false},
		"text":           {approval(), `{"request_id":"x","type":"input","text":"approve"}`, false},
		"confirm":        {question(interaction.TypeConfirm), `{"type":"confirm","confirmed":false}`, true},
		"select":         {question(interaction.TypeSelect, "a", "b"), `{"type":"select","selected_values":["a"]}`, true},
		"select of none": {question(interaction.TypeSelect, "a", "b"), `{"type":"select","selected_values":["z"]}`, false},
		"input":          {question(interaction.TypeInput), `{"type":"input","text":"blue"}`, true},
		"missing":        {question(interaction.TypeMissingInfo), `{"type":"input","text":"blue"}`, true},
		"combined": {combined, `{"type":"combined","responses":[{"request_id":"i","type":"input","text":"blue"},{"request_id":"c","type":"select","selected_values":["b"]},
			{"request_id":"n","type":"combined","responses":[{"type":"confirm","confirmed":true}]}]}`, true},
		"too few": {combined, `{"type":"combined","responses":[{"request_id":"i","type":"input","text":"blue"}]}`, false},
	} {
		var in agioResponse
		if err := decode([]byte(c.body), &in); err != nil {
			t.Fatal(err)
		}
		answer, err := in.answerOf(c.q)
		if err == nil {
			answer.ID = "one"
			i := interaction.Interaction{Request: c.q, Status: interaction.StatusPending}
			err = i.Check(answer, time.Unix(1, 0))
		}
		if (err == nil) != c.ok {
			t.Errorf("%s: %+v: %v", name, answer, err)
		}
	}
}

func TestEveryTypeIsAnsweredInTheReactForm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		q    interaction.Request
		body string
		ok   bool
	}{
		"approve":        {approval(), `{"selectedOptionId":"approve","feedback":null,"data":null}`, true},
		"reject":         {approval(), `{"selectedOptionId":"reject","feedback":"no"}`, true},
		"retry":          {approval(), `{"selectedOptionId":"retry"}`, true},
		"terminate":      {approval(), `{"selectedOptionId":"terminate"}`, true},
		"not offered":    {approval(), `{"selectedOptionId":"modify_args"}`, false},
		"contradiction":  {approval(), `{"selectedOptionId":"approve","data":{"approved":false}}`, false},
		"confirm":        {question(interaction.TypeConfirm), `{"selectedOptionId":"cancel"}`, true},
		"choice":         {question(interaction.TypeSelect, "a", "b"), `{"selectedOptionId":"b"}`, true},
		"input":          {question(interaction.TypeInput), `{"selectedOptionId":"answer","feedback":"blue"}`, true},
		"input, nothing": {question(interaction.TypeInput), `{"selectedOptionId":"answer"}`, false},
		"missing":        {question(interaction.TypeMissingInfo), `{"selectedOptionId":"provide","data":{"key":"value"}}`, true},
		"skip":           {question(interaction.TypeMissingInfo), `{"selectedOptionId":"skip"}`, true},
	} {
		var in reactAnswer
		if err := decode([]byte(c.body), &in); err != nil {
			t.Fatal(err)
		}
		answer, err := in.answerOf(c.q)
		if err == nil {
			answer.ID = "one"
			i := interaction.Interaction{Request: c.q, Status: interaction.StatusPending}
			err = i.Check(answer, time.Unix(1, 0))
		}
		if (err == nil) != c.ok {
			t.Errorf("%s: %+v: %v", name, answer, err)
		}
	}
}

func TestADeadlineNamesItsDefault(t *testing.T) {
	t.Parallel()
	q := approval()
	if got := reactOf(q, q.CreatedAt); got.TimeoutSeconds != nil || got.DefaultOptionID != nil {
		t.Errorf("without a deadline: %+v", got)
	}
	q.ExpiresAt = q.CreatedAt.Add(90 * time.Second)
	if got := reactOf(q, q.CreatedAt); *got.TimeoutSeconds != 90 || *got.DefaultOptionID != "reject" || !got.Options[2].IsDefault {
		t.Errorf("with one: %+v", got)
	}
}

// Every field that a client sends or gets is in the tables of docs/protocols.md.
func TestTheTablesHaveEveryField(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/protocols.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{consentRequest{}, consentReply{}, authRequired{}, authDenied{}, agioRequest{}, agioOption{}, agioResponse{}, agioEvent{}, suspended{},
		approvalRequest{}, approvalDecision{}, controlSignal{}, recordEntry{}, decisionEntry{}, heldEntry{}, permissionRequest{}, permissionResponse{},
		reactChat{}, reactReply{}, reactRequest{}, reactOption{}, reactAnswer{}, reactEvent{}} {
		typ := reflect.TypeOf(v)
		for n := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(n).Tag.Get("json"), ",")
			if name != "" && !strings.Contains(string(text), "`"+name+"`") {
				t.Errorf("%s of %s is in no table", name, typ.Name())
			}
		}
	}
	var words []string
	for a := range decisionActions {
		words = append(words, a)
	}
	for _, w := range reactTypes {
		words = append(words, w)
	}
	for _, w := range reactActions {
		words = append(words, w)
	}
	words = append(words, agioInput, agioSelect, agioConfirm, agioCombined, entryRequired, entryDecision, entryPaused, entryResumed, entryAborted, socketRequest,
		socketResponse, socketGetStatus, socketStatus, socketDecided, socketRejected, socketTool, socketRun, reactInteraction, reactStarted, reactThinking,
		reactActing, reactObservation, reactResumed, reactMessage, reactCompleted, reactTerminated, reactError)
	for _, w := range words {
		if !strings.Contains(string(text), "`"+w+"`") {
			t.Errorf("%s is in no table", w)
		}
	}
}
