package permission

import "strings"

// The file tools stand for every way of reading and writing: their denies
// reach into commands and redirections.
var (
	readTool  = BuiltinTool("file_read")
	writeTool = BuiltinTool("file_write")
)

// BuiltinTool is the specification of a tool by its usual name: bash, the file
// tools, http_fetch, mcp__server__tool, and for anything else a tool whose
// resource is its arguments. Its consent is the strictest; a registry that
// knows better sets its own.
func BuiltinTool(name string) Tool {
	t := Tool{Name: name, Risk: RiskMedium}
	switch name {
	case "bash":
		t.Kind, t.Field, t.Risk = KindCommand, "command", RiskHigh
		t.Fields = []string{"command"}
	case "file_read":
		t.Kind, t.Field, t.Risk = KindRead, "path", RiskLow
		t.Fields = []string{"path"}
	case "file_write":
		t.Kind, t.Field = KindWrite, "path"
		t.Fields = []string{"path", "content"}
	case "file_edit":
		t.Kind, t.Field = KindWrite, "path"
		t.Fields = []string{"path", "old", "new"}
	case "http_fetch":
		t.Kind, t.Field = KindURL, "url"
		t.Fields = []string{"url", "method", "headers", "body"}
	default:
		if strings.HasPrefix(name, "mcp__") {
			t.Kind = KindMCP
			t.Server, _, _ = strings.Cut(strings.TrimPrefix(name, "mcp__"), "__")
		}
	}
	return t
}
