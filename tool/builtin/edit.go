package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"holdpoint/tool"
)

// fileEdit replaces one passage of a file.
type fileEdit struct{ home string }

type editArgs struct {
	Path string  `json:"path"`
	Old  string  `json:"old"`
	New  *string `json:"new"`
}

func newEdit(cfg Config) tool.Tool { return fileEdit{cfg.home()} }

const editSchema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "The file, relative to the workspace or absolute."},
		"old": {"type": "string", "minLength": 1, "description": "The passage to replace, exactly as it stands in the file. It must occur once: include lines around it to make it unique."},
		"new": {"type": "string", "description": "What stands there afterwards; \"\" removes the passage."}
	},
	"required": ["path", "old", "new"],
	"additionalProperties": false
}`

func (fileEdit) Definition() tool.Definition {
	return tool.Definition{
		Name: NameFileEdit,
		Description: "Replaces one passage of an existing text file by another. The passage must match exactly, " +
			"blanks and line breaks included, and occur exactly once.",
		Schema:   json.RawMessage(editSchema),
		Resource: tool.ResourceWrite,
		Field:    "path",
		Closed:   true,
		Consent:  tool.ConsentAlways,
		Risk:     "medium",
		Timeout:  fileTimeout,
	}
}

func (fileEdit) args(call tool.Call) (editArgs, error) {
	args, err := decode[editArgs](call)
	switch {
	case err != nil:
		return args, err
	case args.Old == "":
		return args, refuse("old is empty: give the passage to replace. To create a file, use file_write.")
	case args.New == nil:
		return args, refuse("new is missing: give what stands there afterwards, \"\" to remove the passage.")
	case args.Old == *args.New:
		return args, refuse("old and new are the same: nothing would change.")
	case len(*args.New) > maxFile:
		return args, refuse("new has %d bytes, and at most %d can be written.", len(*args.New), maxFile)
	}
	return args, nil
}

// Base is the SHA-256 of the file's present content, in hex, or "absent".
func (t fileEdit) Base(ctx context.Context, call tool.Call) (string, error) {
	args, err := t.args(call)
	if err != nil {
		return "", err
	}
	return base(ctx, call, t.home, args.Path)
}

// Preview is a unified diff of the edit. An edit that can't be made is an error that says why.
func (t fileEdit) Preview(ctx context.Context, call tool.Call) (string, error) {
	args, err := t.args(call)
	if err != nil {
		return "", err
	}
	p, err := locate(call, t.home, args.Path, false)
	if err != nil {
		return "", err
	}
	defer p.close()
	before, after, err := p.edited(ctx, args)
	if err != nil {
		return "", err
	}
	return difference(p.shown, before, after.content), nil
}

func (t fileEdit) Run(ctx context.Context, call tool.Call) (tool.Outcome, error) {
	args, err := t.args(call)
	if err != nil {
		return tell(err)
	}
	text, err := t.edit(ctx, call, args)
	if err != nil {
		return tell(err)
	}
	return tool.Text(text), nil
}

func (t fileEdit) edit(ctx context.Context, call tool.Call, args editArgs) (string, error) {
	p, err := locate(call, t.home, args.Path, false)
	if err != nil {
		return "", err
	}
	defer p.close()
	before, after, err := p.edited(ctx, args)
	if err != nil {
		return "", err
	}
	if err := p.replace(ctx, after.content, before); err != nil {
		return "", err
	}
	text := fmt.Sprintf("Edited %s at line %d: %d bytes replaced by %d.", p.shown, after.line, after.removed, after.added)
	if after.endings {
		text += " Its line ends are CRLF, and stay so."
	}
	return text, nil
}

// edited is the file as it is and as it would be.
func (p *place) edited(ctx context.Context, args editArgs) (snapshot, edition, error) {
	before, err := p.take(ctx)
	if err != nil {
		return before, edition{}, err
	}
	if !before.exists {
		return before, edition{}, refuse("%s does not exist: use file_write to create it.", p.shown)
	}
	after, err := substitute(before.content, args.Old, *args.New)
	if err != nil {
		return before, edition{}, refuse("%s is left as it is: %s", p.shown, err.Error())
	}
	if len(after.content) > maxFile {
		return before, edition{}, refuse("%s would have %d bytes, and at most %d can be written.", p.shown, len(after.content), maxFile)
	}
	return before, after, nil
}

// edition is an edited content.
type edition struct {
	content        []byte
	line           int // where the passage begins, from 1
	removed, added int
	endings        bool // line ends of the arguments were made CRLF
}

// substitute replaces the only occurrence of old in content. In a file whose lines all end in CRLF, plain line
// ends in old and new mean CRLF: models read and write \n.
func substitute(content []byte, old, new string) (edition, error) {
	if binary(content) {
		return edition{}, refuse("it is binary, and only text can be edited.")
	}
	var e edition
	if onlyCRLF(content) {
		crlfOld, crlfNew := toCRLF(old), toCRLF(new)
		e.endings = crlfOld != old || crlfNew != new
		old, new = crlfOld, crlfNew
	}
	at, lines := occurrences(content, []byte(old))
	switch len(lines) {
	case 0:
		return edition{}, refuse("old does not occur in it. Read the file and copy the passage exactly, blanks included.")
	case 1:
	default:
		return edition{}, refuse("old occurs %s in it, at lines %s. Include more of what stands around it.",
			count(len(lines)), list(lines))
	}
	e.line, e.removed, e.added = lines[0], len(old), len(new)
	e.content = append(append(append(make([]byte, 0, len(content)+len(new)), content[:at]...), new...), content[at+len(old):]...)
	return e, nil
}

// maxOccurrences is where counting stops.
const maxOccurrences = 1000

// occurrences finds old, overlapping ones included: the first one's index, and the line of each.
func occurrences(content, old []byte) (first int, lines []int) {
	first = -1
	line, counted := 1, 0
	for from := 0; len(lines) < maxOccurrences; {
		i := bytes.Index(content[from:], old)
		if i < 0 {
			break
		}
		i += from
		if first < 0 {
			first = i
		}
		line += bytes.Count(content[counted:i], []byte{'\n'})
		counted = i
		lines = append(lines, line)
		from = i + 1
	}
	return first, lines
}

func onlyCRLF(content []byte) bool {
	n := bytes.Count(content, []byte("\n"))
	return n > 0 && n == bytes.Count(content, []byte("\r\n"))
}

func toCRLF(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\n", "\r\n")
}

func count(n int) string {
	if n >= maxOccurrences {
		return fmt.Sprintf("at least %d times", n)
	}
	return fmt.Sprintf("%d times", n)
}

// list is the first numbers, with an ellipsis if there are more.
func list(numbers []int) string {
	const most = 20
	var parts []string
	for _, n := range numbers[:min(len(numbers), most)] {
		parts = append(parts, strconv.Itoa(n))
	}
	if len(numbers) > most {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}
