package config

import (
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"golang.org/x/net/http/httpguts"
)

// Server is how the MCP server that a tool document declares is reached: a program (Command) or an address (URL).
type Server struct {
	// Command is a program's name, to be found on the PATH, or its absolute path.
	Command string
	Args    []string
	// Env is added to the scrubbed environment of the program, by name.
	Env map[string]Secret
	// Dir is the directory of the file that declares it, absolute, in which the program runs.
	Dir string
	// URL is the address of a server that speaks streamable HTTP.
	URL string
	// Headers go with every request to URL, by canonical name.
	Headers map[string]Secret
	// StartTimeout is how long a run waits for the server's first answer, 0 for the default.
	StartTimeout time.Duration
}

// ServerPrefix begins the names by which agents and rules know the tools of MCP servers: mcp__SERVER__TOOL.
const ServerPrefix = "mcp__"

// Limits on what a server is given.
const (
	maxServerArgs  = 200
	maxServerPairs = 100
)

// serverKeys are the keys that declare an MCP server.
var serverKeys = []key{
	{name: "command", shape: shapeText, doc: "The program of an MCP server, which is run on the worker's machine: a name on the PATH, or a path."},
	{name: "args", shape: shapeWords, most: maxServerArgs, beside: "command", doc: "The program's arguments, in order. It runs in the directory of this file."},
	{name: "env", shape: shapeSecrets, most: maxServerPairs, beside: "command", doc: "Variables added to the scrubbed environment of the program, such as `{API_TOKEN: \"${API_TOKEN}\"}`. Values are never shown."},
	{name: "url", shape: shapeURL, doc: "The address of an MCP server that speaks streamable HTTP."},
	{name: "headers", shape: shapeSecrets, most: maxServerPairs, beside: "url", doc: "Headers for every request to the server, such as `{Authorization: \"Bearer ${TOKEN}\"}`. Values are never shown."},
	{name: "start_timeout", shape: shapeDuration, limit: time.Minute, defDoc: "10s", doc: "How long a run waits for an MCP server to be started and to answer. Then it goes on without the server's tools, which it has as soon as the server answers."},
}

// serverName is what a server may be named: its name and a tool's must be told apart in one name, which providers of
// models bound to 64 letters.
var serverName = regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9-]|_?[A-Za-z0-9-])*$`)

const maxServerName = 32

// server reads the keys of an MCP server; nil for a built-in tool.
func (s *section) server(name string) *Server {
	declared := s.has("command") || s.has("url")
	builtin := slices.Contains(builtins, name)
	switch {
	case builtin:
		for _, k := range serverKeys {
			if s.has(k.name) {
				s.reportKey(k.name, "%s is built in and no MCP server: remove it, or give the server a name of its own", name)
				s.told[k.name] = true
			}
		}
		return nil
	case !declared:
		if name != "" {
			s.reportKey("name", "no tool is named %q%s; an MCP server has a command or a url", name, didYouMean(name, builtins))
		}
		return nil
	}
	if name != "" && (!serverName.MatchString(name) || len(name) > maxServerName) {
		s.reportKey("name", "must be at most %d letters, digits, dashes or single underscores for an MCP server, the last no underscore", maxServerName)
	}
	if s.has("command") && s.has("url") {
		s.reportKey("url", "an MCP server has a command or a url, not both: remove one")
	}
	out := &Server{Command: s.text("command"), Args: s.arguments("args"), Env: s.secrets("env", validVariable),
		URL: s.endpoint("url"), Headers: s.headers(), StartTimeout: s.duration("start_timeout")}
	out.Dir = s.resolvePath("command", ".")
	if strings.ContainsRune(out.Command, filepath.Separator) {
		out.Command = s.resolvePath("command", out.Command)
	}
	if s.has("params") {
		s.reportKey("params", "are for built-in tools: an MCP server takes args, env or headers")
		s.told["params"] = true
	}
	return out
}

func (s *section) headers() map[string]Secret {
	out := map[string]Secret{}
	for name, value := range s.secrets("headers", validHeader) {
		out[http.CanonicalHeaderKey(name)] = value
	}
	return out
}

var variableNames = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func validVariable(name, value string) string {
	switch {
	case !variableNames.MatchString(name):
		return "is no name of a variable: letters, digits and _"
	case strings.ContainsRune(value, 0):
		return "has a NUL character in it: remove it"
	}
	return ""
}

func validHeader(name, value string) string {
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return "is no name of a header, such as Authorization"
	case !httpguts.ValidHeaderFieldValue(value):
		return "has characters in its value that no header may have: remove them"
	}
	return ""
}

// arguments are the texts of a list in order. They may be there twice, be empty, and be numbers.
func (s *section) arguments(key string) []string {
	n, ok := s.take(key)
	if !ok {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		s.report(key, n.Line, "must be a list, such as [a, b], not a %s", kindName(n.Kind))
		return nil
	}
	if most := s.spec(key).most; len(n.Content) > most {
		s.report(key, n.Line, "has %d entries, more than %d", len(n.Content), most)
		return nil
	}
	var out []string
	for i, item := range n.Content {
		at := key + "[" + strconv.Itoa(i) + "]"
		v, ok := s.l.scalar(s.file, s.prefix+at, item, "text")
		switch {
		case !ok:
		case v.tag == "!!null":
			s.report(at, v.line, "has no value: give it one or remove it")
		case strings.ContainsRune(v.text, 0):
			s.report(at, v.line, "has a NUL character in it: remove it")
		default:
			out = append(out, v.text)
		}
	}
	return out
}

// secrets are the texts of a mapping, by name. wrong says what is wrong with one, or "".
func (s *section) secrets(key string, wrong func(name, value string) string) map[string]Secret {
	n, ok := s.take(key)
	if !ok {
		return nil
	}
	if n.Kind != yaml.MappingNode {
		s.report(key, n.Line, "must be a mapping of names to texts, not a %s", kindName(n.Kind))
		return nil
	}
	inner := s.l.section(s.file, s.prefix+key+".", n, &object{})
	if most := s.spec(key).most; len(inner.fields) > most {
		s.report(key, n.Line, "has %d entries, more than %d", len(inner.fields), most)
		return nil
	}
	out := map[string]Secret{}
	for _, name := range slices.Sorted(maps.Keys(inner.fields)) {
		v, ok := inner.scalar(name, "text")
		switch {
		case !ok:
		case v.tag != "!!str" && !v.expanded:
			inner.report(name, v.line, "must be text: put it in quotes")
		case wrong(name, v.text) != "":
			inner.report(name, v.line, "%s", wrong(name, v.text))
		default:
			out[name] = NewSecret(v.text)
		}
	}
	return out
}

// namesServer reports whether a reference to a tool is to the tools of a server, or one of them: mcp__SERVER__TOOL.
func namesServer(name string, servers []string) bool {
	return slices.ContainsFunc(servers, func(server string) bool {
		tool, ok := strings.CutPrefix(name, server)
		return ok && (tool == "" || strings.HasPrefix(tool, "__") && len(tool) > 2)
	})
}
