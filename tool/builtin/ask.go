package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// askHuman puts a question of the model to a person. It runs twice: first it returns the request, then it
// turns the answer into its result.
type askHuman struct{}

type askArgs struct {
	Question  string   `json:"question"`
	Options   []string `json:"options"`
	Multiple  bool     `json:"multiple"`
	Multiline bool     `json:"multiline"`
}

func newAsk() tool.Tool { return askHuman{} }

// What a question may hold.
const (
	maxQuestion = 4 << 10 // bytes
	minOptions  = 2
	maxOptions  = 20
	maxOption   = 200 // bytes
)

const askSchema = `{
	"type": "object",
	"properties": {
		"question": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "What you want to know, complete and understandable by itself."},
		"options": {"type": "array", "minItems": 2, "maxItems": 20, "uniqueItems": true, "items": {"type": "string", "minLength": 1, "maxLength": 200}, "description": "What to choose from. Without options the answer is free text."},
		"multiple": {"type": "boolean", "description": "With options: several may be chosen."},
		"multiline": {"type": "boolean", "description": "Without options: the answer may have several lines."}
	},
	"required": ["question"],
	"additionalProperties": false
}`

func (askHuman) Definition() tool.Definition {
	return tool.Definition{
		Name: NameAskHuman,
		Description: "Asks a person and returns the answer. Use it for decisions and knowledge that you can't " +
			"get otherwise; an answer may take days.",
		Schema:   json.RawMessage(askSchema),
		Resource: tool.ResourceArgs,
		Closed:   true,
		Consent:  tool.ConsentNever,
		Risk:     "low",
		// Asking again, or reading the same answer again, has no effect.
		Idempotent: true,
		Timeout:    fileTimeout,
	}
}

func (a askHuman) Run(_ context.Context, call tool.Call) (tool.Outcome, error) {
	args, err := a.args(call)
	if err != nil {
		return tell(err)
	}
	if call.Answer == nil {
		return tool.Ask(args.request()), nil
	}
	text, err := args.answer(*call.Answer)
	if err != nil {
		return tell(err)
	}
	return tool.Text(text), nil
}

func (askHuman) args(call tool.Call) (askArgs, error) {
	args, err := decode[askArgs](call)
	switch {
	case err != nil:
		return args, err
	case strings.TrimSpace(args.Question) == "":
		return args, refuse("question is empty: say what you want to know.")
	case len(args.Question) > maxQuestion:
		return args, refuse("question has %d bytes, and at most %d can be asked: shorten it.", len(args.Question), maxQuestion)
	case args.Options == nil && args.Multiple:
		return args, refuse("multiple goes with options only: give options, or leave it out.")
	case args.Options != nil && args.Multiline:
		return args, refuse("multiline goes without options only: leave one of them out.")
	case args.Options != nil:
		return args, checkOptions(args.Options)
	}
	return args, nil
}

func checkOptions(options []string) error {
	if len(options) < minOptions || len(options) > maxOptions {
		return refuse("options has %d entries: give %d to %d, or none for free text.", len(options), minOptions, maxOptions)
	}
	seen := map[string]int{}
	for i, o := range options {
		key := strings.ToLower(strings.TrimSpace(o))
		first, dup := seen[key]
		switch {
		case key == "":
			return refuse("options[%d] is empty: give it words.", i)
		case len(o) > maxOption:
			return refuse("options[%d] has %d bytes, and at most %d are possible: shorten it.", i, len(o), maxOption)
		case strings.ContainsFunc(o, unicode.IsControl):
			return refuse("options[%d] has a line break or another control character: write it on one line.", i)
		case dup:
			return refuse("options[%d] is the same as options[%d]: each must differ.", i, first)
		}
		seen[key] = i
	}
	return nil
}

// optionID is derived from the option's place, so that the second run finds what the first one offered.
func optionID(i int) string { return fmt.Sprintf("option_%d", i+1) }

func (a askArgs) request() interaction.Request {
	r := interaction.Request{
		Type:      interaction.TypeInput,
		Kind:      interaction.KindTool,
		Title:     a.title(),
		Message:   a.Question,
		Required:  true,
		Multiple:  a.Multiple,
		Multiline: a.Multiline,
	}
	if a.Options != nil {
		r.Type = interaction.TypeSelect
	}
	for i, label := range a.Options {
		r.Options = append(r.Options, interaction.Option{ID: optionID(i), Label: label, Action: interaction.ActionAnswer})
	}
	r.Options = append(r.Options, interaction.StandardOptions(r.Kind, r.Type)...)
	return r
}

// title is the first line of the question.
func (a askArgs) title() string {
	line, _, _ := strings.Cut(strings.TrimSpace(a.Question), "\n")
	return clip(interaction.Visible(strings.TrimSpace(line)), interaction.MaxTitleBytes)
}

// answer is what the model is told of a person's response. Only an answer is one: whatever else a response may
// say never turns into words of the person.
func (a askArgs) answer(r interaction.Response) (string, error) {
	switch r.Action {
	case interaction.ActionAnswer, "":
	default:
		return "", refuse("The person did not answer the question, but said: %s. %s", r.Action, interaction.VisibleLines(r.Feedback))
	}
	if a.Options == nil {
		if strings.TrimSpace(r.Text) == "" {
			return "", refuse("The person gave no answer.")
		}
		return safe(r.Text), nil
	}
	return a.chosen(r)
}

func (a askArgs) chosen(r interaction.Response) (string, error) {
	ids := slices.Clone(r.Selected)
	if len(ids) == 0 && r.OptionID != "" {
		ids = []string{r.OptionID}
	}
	if len(ids) == 0 {
		return "", refuse("The person chose nothing.")
	}
	if len(ids) > 1 && !a.Multiple {
		return "", refuse("The answer can't be used: it chooses %d options, and one was asked for.", len(ids))
	}
	var labels []string
	for i, label := range a.Options {
		if slices.Contains(ids, optionID(i)) {
			labels = append(labels, label)
			ids = slices.DeleteFunc(ids, func(id string) bool { return id == optionID(i) })
		}
	}
	if len(ids) > 0 {
		return "", refuse("The answer can't be used: it chooses %s, which was not offered.", interaction.Visible(clip(ids[0], 100)))
	}
	return strings.Join(labels, "\n"), nil
}
