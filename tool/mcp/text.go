package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// result is what the model gets of a server's answer.
func result(res *mcp.CallToolResult) tool.Outcome {
	text := content(res)
	if res.IsError {
		if text == "" {
			text = "The tool failed, and does not say why."
		}
		return tool.Failure(text)
	}
	if text == "" {
		text = "[no output]"
	}
	return tool.Text(text)
}

// content is the text of all blocks. What is no text is described.
func content(res *mcp.CallToolResult) string {
	var parts []string
	for _, block := range res.Content {
		if text := blockText(block); text != "" {
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 && res.StructuredContent != nil {
		if b, err := json.Marshal(res.StructuredContent); err == nil {
			parts = append(parts, string(b))
		}
	}
	return bounds(strings.Join(parts, "\n"))
}

func blockText(block mcp.Content) string {
	switch b := block.(type) {
	case *mcp.TextContent:
		return b.Text
	case *mcp.ImageContent:
		return fmt.Sprintf("[an image, %s, %d bytes, which can't be shown here]", short(b.MIMEType), len(b.Data))
	case *mcp.AudioContent:
		return fmt.Sprintf("[a sound, %s, %d bytes, which can't be played here]", short(b.MIMEType), len(b.Data))
	case *mcp.ResourceLink:
		return strings.TrimSpace(fmt.Sprintf("[a link to %s: %s] %s", short(b.Name), short(b.URI), b.Description))
	case *mcp.EmbeddedResource:
		if b.Resource == nil {
			return ""
		}
		if b.Resource.Text != "" {
			return fmt.Sprintf("[%s]\n%s", short(b.Resource.URI), b.Resource.Text)
		}
		return fmt.Sprintf("[%s, %s, %d bytes, which can't be shown here]", short(b.Resource.URI), short(b.Resource.MIMEType), len(b.Resource.Blob))
	default:
		return fmt.Sprintf("[a part of a kind that is not known: %T]", block)
	}
}

func short(s string) string {
	if s == "" {
		return "unnamed"
	}
	return interaction.Visible(clip(s, 300))
}

// bounds keeps the beginning and the end of a text that is too long.
func bounds(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	const room, most = 200, tool.MaxContentBytes - 200
	if len(text) <= most {
		return text
	}
	head, from := clip(text, most*3/4), len(text)-(most/4-room)
	for from < len(text) && !utf8.RuneStart(text[from]) {
		from++
	}
	return fmt.Sprintf("%s\n[… %d bytes are left out …]\n%s", head, from-len(head), text[from:])
}
