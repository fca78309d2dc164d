package anthropictest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

var (
	toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)
	plainID  = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
)

// check applies the endpoint's rules, near enough in its own words. It is stricter than the API of late in that
// it wants the roles to alternate: the API merges messages of one role, gateways need not.
func check(req Request) string {
	rules := []func(Request) string{checkParams, checkTools, checkRoles, checkTexts, checkCalls, checkResults}
	for _, rule := range rules {
		if broken := rule(req); broken != "" {
			return broken
		}
	}
	return ""
}

// droppedIn is the version of the API that knows no sampling parameters any more.
const droppedIn = "2026-10-21"

func checkParams(req Request) string {
	version := req.Header.Get("Anthropic-Version")
	var body map[string]json.RawMessage
	if json.Unmarshal(req.Raw, &body) != nil {
		return "the body is not an object"
	}
	switch {
	case version == "":
		return "anthropic-version: header is required"
	case req.Model == "":
		return "model: Field required"
	case req.MaxTokens == nil:
		return "max_tokens: Field required"
	case *req.MaxTokens < 0:
		return "max_tokens: Input should be greater than or equal to 0"
	case len(req.ToolChoice) > 0 && len(req.Tools) == 0:
		return "tool_choice: may only be specified while providing tools"
	}
	for _, name := range []string{"temperature", "top_p", "top_k"} {
		if _, ok := body[name]; ok && version >= droppedIn {
			return fmt.Sprintf("%s: Extra inputs are not permitted", name)
		}
	}
	return ""
}

func checkTools(req Request) string {
	names := map[string]bool{}
	for i, t := range req.Tools {
		if !toolName.MatchString(t.Name) {
			return fmt.Sprintf("tools.%d.custom.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'", i)
		}
		if names[t.Name] {
			return "tools: Tool names must be unique."
		}
		names[t.Name] = true
		var schema struct{ Type string }
		if json.Unmarshal(t.InputSchema, &schema) != nil || schema.Type != "object" {
			return fmt.Sprintf("tools.%d.custom.input_schema.type: Input should be 'object'", i)
		}
	}
	return ""
}

func checkRoles(req Request) string {
	if len(req.Messages) == 0 {
		return "messages: at least one message is required"
	}
	for i, m := range req.Messages {
		switch {
		case m.Role != "user" && m.Role != "assistant":
			return fmt.Sprintf("messages.%d.role: Input should be 'user' or 'assistant'", i)
		case i == 0 && m.Role != "user":
			return `messages: first message must use the "user" role`
		case i > 0 && m.Role == req.Messages[i-1].Role:
			return fmt.Sprintf(`messages: roles must alternate between "user" and "assistant", but found multiple %q roles in a row`, m.Role)
		case len(m.Blocks) == 0:
			return fmt.Sprintf("messages.%d: all messages must have non-empty content except for the optional final assistant message", i)
		}
	}
	if req.Last().Role == "assistant" {
		return "This model does not support assistant message prefill. The conversation must end with a user message."
	}
	return ""
}

func checkTexts(req Request) string {
	if broken := badText("system", req.system); broken != "" {
		return broken
	}
	for _, m := range req.Messages {
		if broken := badText("messages", m.Blocks); broken != "" {
			return broken
		}
		for _, b := range m.Blocks {
			if broken := badText("messages", b.inner); broken != "" {
				return broken
			}
		}
	}
	return ""
}

func badText(where string, blocks []Block) string {
	for _, b := range blocks {
		switch {
		case b.Type != "text":
		case b.Text == "":
			return where + ": text content blocks must be non-empty"
		case strings.TrimSpace(b.Text) == "":
			return where + ": text content blocks must contain non-whitespace text"
		}
	}
	return ""
}

func checkCalls(req Request) string {
	seen := map[string]bool{}
	for i, m := range req.Messages {
		for n, b := range m.Blocks {
			if b.Type != "tool_use" {
				continue
			}
			var input map[string]json.RawMessage
			at := fmt.Sprintf("messages.%d.content.%d", i, n)
			switch {
			case m.Role != "assistant":
				return at + ": `tool_use` blocks can only be in `assistant` messages"
			case !plainID.MatchString(b.ID):
				return at + ".tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'"
			case !toolName.MatchString(b.Name):
				return at + ".tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,128}$'"
			case json.Unmarshal(b.Input, &input) != nil || input == nil:
				return at + ".tool_use.input: Input should be a valid dictionary"
			case seen[b.ID]:
				return at + ": `tool_use` ids must be unique"
			}
			seen[b.ID] = true
		}
	}
	return ""
}

// checkResults checks that each message's calls are answered, all at the beginning of the next message.
func checkResults(req Request) string {
	var asked []string
	for i, m := range req.Messages {
		answered, broken := answers(i, m, asked)
		if broken != "" {
			return broken
		}
		if missing := without(asked, answered); len(missing) > 0 {
			return unanswered(i-1, missing)
		}
		asked = nil
		for _, c := range m.Calls() {
			asked = append(asked, c.ID)
		}
	}
	if len(asked) > 0 {
		return unanswered(len(req.Messages)-1, asked)
	}
	return ""
}

// answers are the calls that a message answers before it says anything else.
func answers(index int, m Message, asked []string) ([]string, string) {
	var out []string
	begun := false // something else came
	for n, b := range m.Blocks {
		if b.Type != "tool_result" {
			begun = true
			continue
		}
		at := fmt.Sprintf("messages.%d.content.%d", index, n)
		switch {
		case m.Role != "user":
			return nil, at + ": `tool_result` blocks can only be in `user` messages"
		case !slices.Contains(asked, b.ToolUseID):
			return nil, fmt.Sprintf("%s: unexpected `tool_use_id` found in `tool_result` blocks: %s. Each `tool_result` block must have a corresponding `tool_use` block in the previous message.", at, b.ToolUseID)
		case slices.Contains(out, b.ToolUseID):
			return nil, fmt.Sprintf("%s: each tool_use must have a single result. Found multiple `tool_result` blocks with id: %s", at, b.ToolUseID)
		case !begun:
			out = append(out, b.ToolUseID)
		}
	}
	return out, ""
}

func without(asked, answered []string) []string {
	return slices.DeleteFunc(slices.Clone(asked), func(id string) bool { return slices.Contains(answered, id) })
}

func unanswered(index int, ids []string) string {
	return fmt.Sprintf("messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s. Each `tool_use` block must have a corresponding `tool_result` block in the next message.", index, strings.Join(ids, ", "))
}
