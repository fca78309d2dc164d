package openai

import (
	"encoding/json"
	"errors"
	"fmt"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"holdpoint/llm"
	"holdpoint/llm/wire"
	"holdpoint/tool"
)

// wireRequest maps a request to the wire. What a model once wrote and no endpoint would take back is mended
// here, on the wire only: an id that is empty or comes twice in a turn, a tool's name with odd characters,
// arguments that are not a JSON object. Without that, one bad call would block a session for good.
func (m *Model) wireRequest(req llm.Request) (sdk.ChatCompletionNewParams, error) {
	var params sdk.ChatCompletionNewParams
	if err := llm.CheckPairing(req.Messages); err != nil {
		return params, err
	}
	tools, err := wireTools(req.Tools)
	if err != nil {
		return params, err
	}
	messages, err := wireMessages(req)
	if err != nil {
		return params, err
	}
	params.Model = m.name
	params.Messages = messages
	params.Tools = tools
	params.StreamOptions.IncludeUsage = param.NewOpt(true)
	params.SetExtraFields(m.params)
	return params, nil
}

func wireTools(definitions []tool.Definition) ([]sdk.ChatCompletionToolUnionParam, error) {
	var tools []sdk.ChatCompletionToolUnionParam
	for _, d := range definitions {
		function := shared.FunctionDefinitionParam{Name: d.Name, Parameters: shared.FunctionParameters{}}
		if d.Description != "" {
			function.Description = param.NewOpt(d.Description)
		}
		schema := map[string]json.RawMessage{"type": json.RawMessage(`"object"`), "properties": json.RawMessage(`{}`)}
		if len(d.Schema) > 0 {
			schema = nil
			if err := json.Unmarshal(d.Schema, &schema); err != nil || schema == nil {
				return nil, fmt.Errorf("the schema of tool %q is not a JSON object", d.Name)
			}
		}
		for key, value := range schema {
			function.Parameters[key] = value
		}
		tools = append(tools, sdk.ChatCompletionFunctionTool(function))
	}
	return tools, nil
}

func wireMessages(req llm.Request) ([]sdk.ChatCompletionMessageParamUnion, error) {
	if len(req.Messages) == 0 {
		return nil, errors.New("the transcript is empty")
	}
	known := make(map[string]bool, len(req.Tools))
	for _, d := range req.Tools {
		known[d.Name] = true
	}
	var out []sdk.ChatCompletionMessageParamUnion
	if req.System != "" {
		out = append(out, sdk.SystemMessage(req.System))
	}
	var ids wire.IDs
	var answers []string // the wire ids of the calls that await their tool messages
	for i, message := range req.Messages {
		switch message.Role {
		case llm.RoleSystem:
			out = append(out, sdk.SystemMessage(message.Content))
		case llm.RoleUser:
			out = append(out, sdk.UserMessage(message.Content))
		case llm.RoleAssistant:
			answers = ids.Turn(message.ToolCalls)
			out = append(out, wireAssistant(message, answers, known))
		case llm.RoleTool:
			// CheckPairing has made sure that there is one.
			out = append(out, sdk.ToolMessage(message.Content, answers[0]))
			answers = answers[1:]
		default:
			return nil, fmt.Errorf("message %d of the transcript has the unknown role %q", i, message.Role)
		}
	}
	return out, nil
}

func wireAssistant(message llm.Message, ids []string, known map[string]bool) sdk.ChatCompletionMessageParamUnion {
	var assistant sdk.ChatCompletionAssistantMessageParam
	if message.Content != "" || len(message.ToolCalls) == 0 {
		assistant.Content.OfString = param.NewOpt(message.Content)
	}
	for i, call := range message.ToolCalls {
		assistant.ToolCalls = append(assistant.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{
			OfFunction: &sdk.ChatCompletionMessageFunctionToolCallParam{
				ID: ids[i],
				Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{
					Name:      wire.Name(call.Name, known),
					Arguments: wire.Args(call.Args),
				},
			},
		})
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &assistant}
}
