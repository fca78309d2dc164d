package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"holdpoint/interaction"
)

// What a server may ask at once.
const (
	maxAskedBytes = 4 << 10 // of its words
	maxLabelBytes = 200
)

// form is what a server asks: a question for each property of its schema, or only yes or no.
type form struct {
	server string
	words  string // the server's own
	url    string // what is to be opened, for that kind of question
	fields []field
}

// field is one property of the schema.
type field struct {
	name     string
	required bool
	schema   property
	check    *jsonschema.Schema
}

type property struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Format      string          `json:"format"`
	Enum        []string        `json:"enum"`
	EnumNames   []string        `json:"enumNames"`
	OneOf       []titled        `json:"oneOf"`
	Items       *choices        `json:"items"`
	MaxLength   *int            `json:"maxLength"`
	Default     json.RawMessage `json:"default"`
}

type choices struct {
	Enum  []string `json:"enum"`
	AnyOf []titled `json:"anyOf"`
}

type titled struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// formOf reads what a server asks. An error says why it can't be put to people.
func formOf(server string, p *mcp.ElicitParams) (form, error) {
	f := form{server: server, words: interaction.VisibleLines(clip(p.Message, maxAskedBytes)), url: p.URL}
	if p.URL != "" || p.RequestedSchema == nil {
		return f, nil
	}
	raw, err := json.Marshal(p.RequestedSchema)
	if err != nil || len(raw) > maxSchemaBytes {
		return f, fmt.Errorf("its form has %d bytes, or can't be read", len(raw))
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil {
		return f, errors.New("its form can't be read")
	}
	if len(schema.Properties) > interaction.MaxQuestions {
		return f, fmt.Errorf("its form has %d fields, and at most %d can be asked at once", len(schema.Properties), interaction.MaxQuestions)
	}
	for name, body := range schema.Properties {
		one := field{name: name, required: slices.Contains(schema.Required, name)}
		if one.check, err = compile(body); err == nil {
			err = json.Unmarshal(body, &one.schema)
		}
		if err != nil {
			return f, fmt.Errorf("the field %s of its form can't be read", interaction.Visible(clip(name, maxLabelBytes)))
		}
		f.fields = append(f.fields, one)
	}
	// JSON has lost the server's order. What is required comes first.
	slices.SortFunc(f.fields, func(a, b field) int {
		if a.required != b.required {
			if a.required {
				return -1
			}
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	return f, nil
}

func compile(schema json.RawMessage) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	c.UseLoader(noLoader{})
	if err := c.AddResource("form.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("form.json")
}

// noLoader keeps a schema from having other files, or addresses, read.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is elsewhere, and only this schema is read", url)
}

// request is the question to people. again says what was wrong with the last answer, if there was one.
func (f form) request(again string) interaction.Request {
	first, _, _ := strings.Cut(strings.TrimSpace(f.words), "\n")
	r := interaction.Request{Kind: interaction.KindTool, Type: interaction.TypeCombined, Message: f.words, Required: true,
		Title: clip("The MCP server "+f.server+" asks: "+first, interaction.MaxTitleBytes)}
	switch {
	case f.url != "":
		r.Type = interaction.TypeConfirm
		r.ConfirmText, r.CancelText = "I have opened it", "I won't open it"
		r.Details = "The server wants this address opened in a browser. It leads away from here: look at where before you open it.\n\n" + interaction.Visible(f.url)
	case len(f.fields) == 0:
		r.Type = interaction.TypeConfirm
	case len(f.fields) == 1:
		one := f.fields[0].request()
		r.Type, r.Options, r.Multiple, r.Multiline, r.Required = one.Type, one.Options, one.Multiple, one.Multiline, one.Required
		r.Placeholder, r.ConfirmText, r.CancelText = one.Placeholder, one.ConfirmText, one.CancelText
		r.Details = strings.TrimSpace(one.Title + "\n" + one.Message)
	}
	for _, one := range f.fields {
		if len(f.fields) > 1 {
			r.Interactions = append(r.Interactions, one.request())
		}
	}
	if r.Type != interaction.TypeSelect {
		r.Options = []interaction.Option{{ID: "answer", Label: "Answer", Description: "The server gets it, and the call goes on.", Action: interaction.ActionAnswer, RequiresInput: true}}
	}
	r.Options = append(r.Options,
		interaction.Option{ID: "decline", Label: "Decline", Description: "The server is told that the answer is no.", Action: interaction.ActionReject, InputPrompt: "Why, for the agent"},
		interaction.Option{ID: "skip", Label: "Dismiss", Description: "The server is told that nobody chose.", Action: interaction.ActionSkip})
	if again != "" {
		r.Message += "\n\nIt is asked again: " + again + "."
	}
	return r
}

func (f field) request() interaction.Request {
	p := f.schema
	r := interaction.Request{Type: interaction.TypeInput, Title: interaction.Visible(clip(p.Title, maxLabelBytes)), Required: f.required,
		Message: interaction.VisibleLines(clip(p.Description, maxAskedBytes)), Placeholder: interaction.Visible(clip(f.hint(), maxLabelBytes))}
	if r.Title == "" {
		r.Title = interaction.Visible(clip(f.name, maxLabelBytes))
	}
	switch {
	case p.Type == "boolean":
		r.Type, r.ConfirmText, r.CancelText = interaction.TypeConfirm, "Yes", "No"
	case len(p.choices()) > 0:
		r.Type, r.Multiple = interaction.TypeSelect, p.Type == "array"
		for n, c := range p.choices() {
			label := c.Title
			if label == "" {
				label = c.Const
			}
			r.Options = append(r.Options, interaction.Option{ID: choiceID(n), Label: interaction.Visible(clip(label, maxLabelBytes)), Action: interaction.ActionAnswer})
		}
	default:
		r.Multiline = p.Type == "string" && p.MaxLength != nil && *p.MaxLength > maxLabelBytes
	}
	return r
}

// hint says what a field takes.
func (f field) hint() string {
	var parts []string
	switch {
	case f.schema.Type == "integer":
		parts = append(parts, "a whole number")
	case f.schema.Type == "number":
		parts = append(parts, "a number")
	case f.schema.Format != "":
		parts = append(parts, f.schema.Format)
	}
	if d := string(f.schema.Default); d != "" && d != "null" {
		parts = append(parts, "for instance "+d)
	}
	return strings.Join(parts, ", ")
}

func choiceID(n int) string { return "option_" + strconv.Itoa(n+1) }

// choices are what may be chosen, in the server's order.
func (p property) choices() []titled {
	plain, named := p.Enum, p.OneOf
	if p.Type == "array" {
		if p.Items == nil {
			return nil
		}
		plain, named = p.Items.Enum, p.Items.AnyOf
	}
	if len(named) > 0 {
		return named
	}
	var out []titled
	for n, v := range plain {
		one := titled{Const: v}
		if p.Type != "array" && n < len(p.EnumNames) {
			one.Title = p.EnumNames[n]
		}
		out = append(out, one)
	}
	return out
}

// content is what the server gets for an answer. An error says what is wrong with it, for whoever answered.
func (f form) content(r interaction.Response) (map[string]any, error) {
	out := map[string]any{}
	for n, one := range f.fields {
		part := r
		if len(f.fields) > 1 {
			if n >= len(r.Responses) {
				return nil, errors.New("it has too few answers")
			}
			part = r.Responses[n]
		}
		v, given, err := one.value(part)
		if err != nil {
			return nil, err
		}
		if given {
			out[one.name] = v
		}
	}
	return out, nil
}

// value is what was answered to one field; given is false where it was left open.
func (f field) value(r interaction.Response) (v any, given bool, err error) {
	switch {
	case r.Action == interaction.ActionSkip:
		return nil, false, nil
	case f.schema.Type == "boolean":
		if r.Confirmed == nil {
			return nil, false, nil
		}
		v = *r.Confirmed
	case len(f.schema.choices()) > 0:
		if v, given = f.chosen(r.Selected); !given {
			return nil, false, nil
		}
	case strings.TrimSpace(r.Text) == "" && !f.required:
		return nil, false, nil
	case f.schema.Type == "integer", f.schema.Type == "number":
		if v, err = number(strings.TrimSpace(r.Text)); err != nil {
			return nil, false, fmt.Errorf("%s must be %s", f.label(), f.kind())
		}
	default:
		v = r.Text
	}
	return v, true, f.valid(v)
}

// number reads what JSON has as a number.
func number(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	var n float64
	err := json.Unmarshal([]byte(text), &n)
	return n, err
}

func (f field) chosen(ids []string) (any, bool) {
	picked := []any{}
	for n, c := range f.schema.choices() {
		if slices.Contains(ids, choiceID(n)) {
			picked = append(picked, c.Const)
		}
	}
	if f.schema.Type == "array" {
		return picked, len(picked) > 0 || f.required
	}
	if len(picked) == 0 {
		return nil, false
	}
	return picked[0], true
}

func (f field) valid(v any) error {
	var bad *jsonschema.ValidationError
	if err := f.check.Validate(v); errors.As(err, &bad) {
		for len(bad.Causes) > 0 {
			bad = bad.Causes[0]
		}
		return fmt.Errorf("%s: %s", f.label(), bad.ErrorKind.LocalizedString(english))
	} else if err != nil {
		return fmt.Errorf("%s: %w", f.label(), err)
	}
	return nil
}

func (f field) label() string { return interaction.Visible(clip(f.name, maxLabelBytes)) }

func (f field) kind() string {
	if f.schema.Type == "integer" {
		return "a whole number"
	}
	return "a number"
}

var english = message.NewPrinter(language.English)
