package anthropictest

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
)

// Request is one request as it came.
type Request struct {
	Number     int // counts the requests from 0
	Model      string
	MaxTokens  *int64 // nil where the request has none
	Stream     bool
	System     string // blocks are joined by empty lines
	Messages   []Message
	Tools      []Tool
	ToolChoice json.RawMessage
	Raw        json.RawMessage // the whole body
	Header     http.Header
	// Violation is why the request was refused as breaking the endpoint's rules; "" where it was not.
	Violation string

	system []Block
}

// Message is one message of a request. Content given as text is one block.
type Message struct {
	Role   string
	Blocks []Block
}

// Block is a block of content. Type says which fields it has.
type Block struct {
	Type      string
	Text      string          // text; the content of a tool_result
	ID        string          // tool_use
	Name      string          // tool_use
	Input     json.RawMessage // tool_use
	ToolUseID string          // tool_result
	IsError   bool            // tool_result

	inner []Block // the blocks of a tool_result
}

// Tool is a tool on offer.
type Tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// Text is the message's text, its blocks joined by empty lines.
func (m Message) Text() string { return joined(m.Blocks) }

// Calls are the message's tool calls.
func (m Message) Calls() []Call {
	var out []Call
	for _, b := range m.Blocks {
		if b.Type == "tool_use" {
			out = append(out, Call{ID: b.ID, Name: b.Name, Args: string(b.Input)})
		}
	}
	return out
}

// Results are the message's blocks that answer tool calls.
func (m Message) Results() []Block {
	var out []Block
	for _, b := range m.Blocks {
		if b.Type == "tool_result" {
			out = append(out, b)
		}
	}
	return out
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

func joined(blocks []Block) string {
	var texts []string
	for _, b := range blocks {
		if b.Type == "text" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

type wireRequest struct {
	Model     string          `json:"model"`
	MaxTokens *int64          `json:"max_tokens"`
	Stream    bool            `json:"stream"`
	System    json.RawMessage `json:"system"`
	Messages  []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Tools      []Tool          `json:"tools"`
	ToolChoice json.RawMessage `json:"tool_choice"`
}

type wireBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

func decode(body []byte) (Request, error) {
	var wire wireRequest
	if err := json.Unmarshal(body, &wire); err != nil {
		return Request{}, err
	}
	system, err := blocks(wire.System)
	if err != nil {
		return Request{}, err
	}
	req := Request{Model: wire.Model, MaxTokens: wire.MaxTokens, Stream: wire.Stream, System: joined(system), Tools: wire.Tools, ToolChoice: wire.ToolChoice, Raw: body, system: system}
	for _, m := range wire.Messages {
		content, err := blocks(m.Content)
		if err != nil {
			return Request{}, err
		}
		req.Messages = append(req.Messages, Message{Role: m.Role, Blocks: content})
	}
	return req, nil
}

// blocks reads content, which is text or a list of blocks.
func blocks(raw json.RawMessage) ([]Block, error) {
	if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
		return nil, nil
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return []Block{{Type: "text", Text: s}}, nil
	}
	var list []wireBlock
	if json.Unmarshal(raw, &list) != nil {
		return nil, errors.New("content is neither text nor a list of blocks")
	}
	var out []Block
	for _, b := range list {
		inner, err := blocks(b.Content)
		if err != nil {
			return nil, err
		}
		block := Block{Type: b.Type, Text: b.Text, ID: b.ID, Name: b.Name, Input: b.Input, ToolUseID: b.ToolUseID, IsError: b.IsError, inner: inner}
		if b.Type == "tool_result" {
			block.Text = joined(inner)
		}
		out = append(out, block)
	}
	return out, nil
}
