package openaitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// Request is one request as it came.
type Request struct {
	Number   int // counts the requests from 0
	Model    string
	Stream   bool
	Messages []Message
	Tools    []Tool
	Raw      json.RawMessage // the whole body
	Header   http.Header
	// Violation is why the request was refused as breaking the endpoint's rules; "" where it was not.
	Violation string
}

// Message is one message of a request. Content given as parts is joined.
type Message struct {
	Role       string
	Content    string
	ToolCalls  []Call
	ToolCallID string
}

// Call is a tool call, in a request or in a Reply.
type Call struct {
	ID   string
	Name string
	Args string // as text; it need not be JSON
}

// Tool is a tool on offer.
type Tool struct {
	Name        string
	Description string
	Parameters  json.RawMessage
}

// Last is the last message of the request, the zero Message where there is none.
func (r Request) Last() Message {
	if len(r.Messages) == 0 {
		return Message{}
	}
	return r.Messages[len(r.Messages)-1]
}

// Replies counts the assistant messages, for handlers that script a conversation.
func (r Request) Replies() int {
	n := 0
	for _, m := range r.Messages {
		if m.Role == "assistant" {
			n++
		}
	}
	return n
}

type wireCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type wireRequest struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		ToolCalls  []wireCall      `json:"tool_calls"`
		ToolCallID string          `json:"tool_call_id"`
	} `json:"messages"`
	Tools []struct {
		Function Tool `json:"function"`
	} `json:"tools"`
}

func decode(body []byte) (Request, error) {
	var wire wireRequest
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, err
	}
	req := Request{Model: wire.Model, Stream: wire.Stream, Raw: body}
	for _, m := range wire.Messages {
		content, err := text(m.Content)
		if err != nil {
			return Request{}, err
		}
		message := Message{Role: m.Role, Content: content, ToolCallID: m.ToolCallID}
		for _, c := range m.ToolCalls {
			message.ToolCalls = append(message.ToolCalls, Call{ID: c.ID, Name: c.Function.Name, Args: c.Function.Arguments})
		}
		req.Messages = append(req.Messages, message)
	}
	for _, t := range wire.Tools {
		req.Tools = append(req.Tools, t.Function)
	}
	return req, nil
}

func text(raw json.RawMessage) (string, error) {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil { // null decodes to ""
		return s, nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", errors.New("content is neither text nor a list of parts")
	}
	var all strings.Builder
	for _, p := range parts {
		all.WriteString(p.Text)
	}
	return all.String(), nil
}

// violation is what the endpoint says about a request that breaks its rules.
type violation struct{ message, param string }

func broken(index int, field, format string, args ...any) *violation {
	return &violation{message: fmt.Sprintf(format, args...), param: fmt.Sprintf("messages.[%d].%s", index, field)}
}

var functionName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// check applies the endpoint's rules in its own words, its spelling included.
func check(req Request) *violation {
	if req.Model == "" {
		return &violation{message: "you must provide a model parameter"}
	}
	if len(req.Messages) == 0 {
		return &violation{message: "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.", param: "messages"}
	}
	for _, t := range req.Tools {
		if !functionName.MatchString(t.Name) {
			return &violation{message: fmt.Sprintf("Invalid 'tools': function name %q does not match '^[a-zA-Z0-9_-]+$'.", t.Name), param: "tools"}
		}
	}
	var pending []string // ids that await their tool message
	var asked []string   // all ids of the last assistant message
	at := 0              // where that message is
	for i, m := range req.Messages {
		if m.Role == "tool" {
			var v *violation
			if pending, v = answered(i, m.ToolCallID, asked, pending); v != nil {
				return v
			}
			continue
		}
		if len(pending) > 0 {
			return unanswered(at, pending)
		}
		asked, at = nil, i
		for _, call := range m.ToolCalls {
			asked = append(asked, call.ID)
		}
		pending = append([]string(nil), asked...)
		if v := checkMessage(i, m, asked); v != nil {
			return v
		}
	}
	if len(pending) > 0 {
		return unanswered(at, pending)
	}
	return nil
}

func unanswered(at int, pending []string) *violation {
	return broken(at, "role", "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: %s", strings.Join(pending, ", "))
}

// answered takes the id off the pending ones.
func answered(index int, id string, asked, pending []string) ([]string, *violation) {
	if len(asked) == 0 {
		return nil, broken(index, "role", "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.")
	}
	for i, p := range pending {
		if p == id {
			return append(pending[:i:i], pending[i+1:]...), nil
		}
	}
	for _, a := range asked {
		if a == id {
			return nil, broken(index, "tool_call_id", "Invalid parameter: Duplicate value for 'tool_call_id' of '%s'.", id)
		}
	}
	return nil, broken(index, "tool_call_id", "Invalid parameter: 'tool_call_id' of '%s' not found in 'tool_calls' of previous message.", id)
}

func checkMessage(index int, m Message, ids []string) *violation {
	switch m.Role {
	case "system", "developer", "user", "assistant":
	default:
		return broken(index, "role", "Invalid value: '%s'. Supported values are: 'system', 'assistant', 'user', 'function', 'tool', and 'developer'.", m.Role)
	}
	if len(m.ToolCalls) > 0 && m.Role != "assistant" {
		return broken(index, "tool_calls", "Invalid parameter: 'tool_calls' is only allowed for messages with role 'assistant'.")
	}
	seen := map[string]bool{}
	for n, call := range m.ToolCalls {
		if ids[n] == "" || seen[ids[n]] {
			return broken(index, "tool_calls", "Invalid parameter: Duplicate or empty 'id' of '%s' in 'tool_calls'.", ids[n])
		}
		seen[ids[n]] = true
		if !functionName.MatchString(call.Name) {
			return broken(index, fmt.Sprintf("tool_calls[%d].function.name", n), "Invalid 'messages[%d].tool_calls[%d].function.name': %q does not match '^[a-zA-Z0-9_-]+$'.", index, n, call.Name)
		}
	}
	return nil
}
