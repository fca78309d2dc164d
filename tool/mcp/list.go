package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// Limits on what a server says of its tools. What exceeds them is left out, and the log says so.
const (
	maxTools       = 256
	maxPages       = 50
	maxDescription = 4 << 10
	maxSchemaBytes = 64 << 10
	maxNameBytes   = 64 // of the whole name; providers of models take no more
)

// list asks the server for its tools.
func (s *Server) list(ctx context.Context, c *connection) ([]tool.Tool, error) {
	var found []*mcp.Tool
	params := &mcp.ListToolsParams{}
	for range maxPages {
		page, err := c.session.ListTools(ctx, params)
		if err != nil {
			if ctx.Err() != nil {
				err = fmt.Errorf("it did not list its tools within %s", listPatience)
			}
			return nil, c.explained(err, c.dead())
		}
		found = append(found, page.Tools...)
		if page.NextCursor == "" || len(found) > maxTools {
			return s.accepted(found), nil
		}
		params = &mcp.ListToolsParams{Cursor: page.NextCursor}
	}
	return nil, fmt.Errorf("its list of tools has more than %d pages", maxPages)
}

// accepted are the tools that can be offered, in order.
func (s *Server) accepted(found []*mcp.Tool) []tool.Tool {
	var out []tool.Tool
	seen := map[string]string{}
	var refused []string
	for _, t := range found {
		if t == nil {
			continue
		}
		def, err := s.definition(t)
		if before, dup := seen[def.Name]; err == nil && dup {
			err = fmt.Errorf("its name is taken by %q", before)
		}
		if err == nil && len(out) >= maxTools {
			err = fmt.Errorf("a server may have %d tools", maxTools)
		}
		if err != nil {
			refused = append(refused, fmt.Sprintf("%q: %v", clip(t.Name, 100), err))
			continue
		}
		seen[def.Name] = t.Name
		out = append(out, remote{server: s, name: t.Name, def: def})
	}
	s.sayRefused(refused)
	return out
}

// sayRefused logs what is left out, once until that changes.
func (s *Server) sayRefused(refused []string) {
	said := "left out: " + strings.Join(refused, "; ")
	s.mu.Lock()
	known := s.left == said
	s.left = said
	s.mu.Unlock()
	if len(refused) > 0 && !known {
		s.log.Warn("tools of an MCP server are left out", "tools", refused)
	}
}

var unusual = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// definition is a tool as agents know it. Names have no character that a provider of models refuses.
func (s *Server) definition(t *mcp.Tool) (tool.Definition, error) {
	def := tool.Definition{Name: s.Name() + "__" + unusual.ReplaceAllString(t.Name, "_"), Server: s.cfg.Name, Resource: tool.ResourceArgs,
		Consent: s.cfg.Consent, Risk: s.cfg.Risk, Idempotent: s.cfg.Idempotent, Cacheable: s.cfg.Cacheable, Timeout: s.cfg.Timeout,
		TaskQueue: s.cfg.TaskQueue}
	if t.Name == "" {
		return def, errors.New("it has no name")
	}
	if len(def.Name) > maxNameBytes {
		return def, fmt.Errorf("%s has more than %d letters", def.Name, maxNameBytes)
	}
	def.Description = described(t)
	schema, err := json.Marshal(t.InputSchema)
	if err != nil {
		return def, fmt.Errorf("its schema can't be read: %w", err)
	}
	if len(schema) > maxSchemaBytes {
		return def, fmt.Errorf("its schema has %d bytes, more than %d", len(schema), maxSchemaBytes)
	}
	var object struct {
		Type any `json:"type"`
	}
	if json.Unmarshal(schema, &object) != nil || object.Type != "object" {
		return def, errors.New("its schema is not that of an object")
	}
	def.Schema = schema
	if s.cfg.Usable != nil {
		return def, s.cfg.Usable(def)
	}
	return def, nil
}

func described(t *mcp.Tool) string {
	text := t.Description
	if text == "" {
		text = t.Title
	}
	if text == "" && t.Annotations != nil {
		text = t.Annotations.Title
	}
	return clip(interaction.VisibleLines(text), maxDescription)
}

// clip cuts s to at most n bytes at a rune's boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
