package anthropic

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"holdpoint/llm"
	"holdpoint/llm/wire"
	"holdpoint/tool"
)

// What is said where the API insists on something that a transcript does not have.
const (
	emptyMessage = "(an empty message)"
	earlier      = "(The conversation begins with your answer.)"
	goOn         = "Go on."
)

// wireRequest maps a request to the wire. What a model or a person once wrote and the API would not take back is
// mended here, on the wire only: ids that are empty, odd or not unique, a tool's name with odd characters,
// arguments that are not a JSON object, empty texts. Without that, one bad call would block a session for good.
func (m *Model) wireRequest(req llm.Request) (sdk.MessageNewParams, error) {
	params := sdk.MessageNewParams{Model: m.name, MaxTokens: DefaultMaxTokens}
	if err := llm.CheckPairing(req.Messages); err != nil {
		return params, err
	}
	tools, err := wireTools(req.Tools)
	if err != nil {
		return params, err
	}
	c := newConversation(req)
	for i, message := range req.Messages {
		if err := c.add(message); err != nil {
			return params, fmt.Errorf("message %d of the transcript %w", i, err)
		}
	}
	params.Tools = tools
	params.System = c.system
	if params.Messages, err = c.messages(); err != nil {
		return params, err
	}
	extra := m.params
	if _, ok := extra["tool_choice"]; ok && len(tools) == 0 { // refused where there is nothing to choose from
		extra = maps.Clone(extra)
		delete(extra, "tool_choice")
	}
	params.SetExtraFields(extra)
	return params, nil
}

func wireTools(definitions []tool.Definition) ([]sdk.ToolUnionParam, error) {
	var tools []sdk.ToolUnionParam
	for _, d := range definitions {
		schema, err := wireSchema(d)
		if err != nil {
			return nil, err
		}
		t := &sdk.ToolParam{Name: d.Name, InputSchema: param.Override[sdk.ToolInputSchemaParam](schema)}
		if !blank(d.Description) {
			t.Description = param.NewOpt(d.Description)
		}
		tools = append(tools, sdk.ToolUnionParam{OfTool: t})
	}
	return tools, nil
}

// wireSchema is a tool's schema with the type that the API insists on.
func wireSchema(d tool.Definition) (json.RawMessage, error) {
	schema := map[string]json.RawMessage{"properties": json.RawMessage(`{}`)}
	if len(d.Schema) > 0 {
		schema = nil
		if err := json.Unmarshal(d.Schema, &schema); err != nil || schema == nil {
			return nil, fmt.Errorf("the schema of tool %q is not a JSON object", d.Name)
		}
	}
	if _, ok := schema["type"]; !ok {
		schema["type"] = json.RawMessage(`"object"`)
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("the schema of tool %q can't be sent: %w", d.Name, err)
	}
	return raw, nil
}

// conversation puts the messages of a request together by the API's rules: the roles alternate, the first
// message and the last are the user's, and all results of a turn's calls come first in the message after it.
type conversation struct {
	known   map[string]bool // names of the tools on offer
	ids     wire.IDs
	answers []string // the wire ids of the calls that await their results
	system  []sdk.TextBlockParam
	turns   []turn
}

type turn struct {
	role   llm.Role // user or assistant
	blocks []sdk.ContentBlockParamUnion
}

func newConversation(req llm.Request) *conversation {
	c := &conversation{known: map[string]bool{}, ids: wire.IDs{Whole: true, Plain: true}}
	for _, d := range req.Tools {
		c.known[d.Name] = true
	}
	c.instruct(req.System)
	return c
}

func (c *conversation) add(message llm.Message) error {
	switch message.Role {
	case llm.RoleSystem:
		if len(c.turns) == 0 {
			c.instruct(message.Content)
			return nil
		}
		// Not every model knows instructions in the middle of a conversation; as a user's words they weigh less,
		// never more.
		if !blank(message.Content) {
			c.say(llm.RoleUser, text("System: "+message.Content)...)
		}
	case llm.RoleUser:
		c.say(llm.RoleUser, text(message.Content)...)
	case llm.RoleAssistant:
		c.answer(message)
	case llm.RoleTool:
		// CheckPairing has made sure that there is one.
		c.say(llm.RoleUser, result(c.answers[0], message))
		c.answers = c.answers[1:]
	default:
		return fmt.Errorf("has the unknown role %q", message.Role)
	}
	return nil
}

func (c *conversation) instruct(words string) {
	if !blank(words) {
		c.system = append(c.system, sdk.TextBlockParam{Text: words})
	}
}

// say adds to the turn that is on, if it is the same role's.
func (c *conversation) say(role llm.Role, blocks ...sdk.ContentBlockParamUnion) {
	if n := len(c.turns); n > 0 && c.turns[n-1].role == role {
		c.turns[n-1].blocks = append(c.turns[n-1].blocks, blocks...)
		return
	}
	c.turns = append(c.turns, turn{role: role, blocks: blocks})
}

func (c *conversation) answer(message llm.Message) {
	blocks := text(message.Content)
	c.answers = c.ids.Turn(message.ToolCalls)
	for i, call := range message.ToolCalls {
		input := json.RawMessage(wire.Args(call.Args))
		blocks = append(blocks, sdk.NewToolUseBlock(c.answers[i], input, wire.Name(call.Name, c.known)))
	}
	if len(blocks) > 0 { // a model that had nothing to say is left out
		c.say(llm.RoleAssistant, blocks...)
	}
}

// result is a tool's result as the model sees it.
func result(id string, message llm.Message) sdk.ContentBlockParamUnion {
	block := &sdk.ToolResultBlockParam{ToolUseID: id}
	if !blank(message.Content) {
		block.Content = []sdk.ToolResultBlockParamContentUnion{{OfText: &sdk.TextBlockParam{Text: message.Content}}}
	}
	switch tool.Status(message.ToolStatus) {
	case "", tool.StatusSuccess, tool.StatusSkipped, tool.StatusWithheld:
	default:
		block.IsError = param.NewOpt(true)
	}
	return sdk.ContentBlockParamUnion{OfToolResult: block}
}

func (c *conversation) messages() ([]sdk.MessageParam, error) {
	if len(c.turns) == 0 {
		return nil, errors.New("the transcript is empty")
	}
	if c.turns[0].role != llm.RoleUser {
		c.turns = append([]turn{{role: llm.RoleUser, blocks: text(earlier)}}, c.turns...)
	}
	if c.turns[len(c.turns)-1].role != llm.RoleUser {
		c.turns = append(c.turns, turn{role: llm.RoleUser, blocks: text(goOn)})
	}
	var out []sdk.MessageParam
	for _, t := range c.turns {
		switch {
		case t.role == llm.RoleAssistant:
			out = append(out, sdk.NewAssistantMessage(t.blocks...))
		case len(t.blocks) == 0:
			out = append(out, sdk.NewUserMessage(text(emptyMessage)...))
		default:
			out = append(out, sdk.NewUserMessage(t.blocks...))
		}
	}
	return out, nil
}

// text is a block of text, or none where the API would refuse one.
func text(words string) []sdk.ContentBlockParamUnion {
	if blank(words) {
		return nil
	}
	return []sdk.ContentBlockParamUnion{sdk.NewTextBlock(words)}
}

func blank(words string) bool { return strings.TrimSpace(words) == "" }
