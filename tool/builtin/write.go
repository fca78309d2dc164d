package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"holdpoint/tool"
)

// fileWrite creates or replaces a whole file.
type fileWrite struct{ home string }

type writeArgs struct {
	Path    string  `json:"path"`
	Content *string `json:"content"`
}

func newWrite(cfg Config) tool.Tool { return fileWrite{cfg.home()} }

// home is what "~/" stands for, "" if that is unknown.
func (c Config) home() string {
	if c.Home != "" {
		return c.Home
	}
	home, _ := os.UserHomeDir()
	return home
}

const writeSchema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "The file, relative to the workspace or absolute."},
		"content": {"type": "string", "description": "The whole new content."}
	},
	"required": ["path", "content"],
	"additionalProperties": false
}`

func (fileWrite) Definition() tool.Definition {
	return tool.Definition{
		Name: NameFileWrite,
		Description: "Creates a file with the given content, or replaces the whole content of an existing one. " +
			"Missing parent directories are created. To change a part of a file, use file_edit.",
		Schema:   json.RawMessage(writeSchema),
		Resource: tool.ResourceWrite,
		Field:    "path",
		Closed:   true,
		Consent:  tool.ConsentAlways,
		Risk:     "medium",
		// Writing the same bytes twice gives the same file, but someone may have changed it between a crash and
		// the second time, and would lose that. So a person is asked instead.
		Idempotent: false,
		Timeout:    fileTimeout,
	}
}

func (fileWrite) args(call tool.Call) (writeArgs, error) {
	args, err := decode[writeArgs](call)
	switch {
	case err != nil:
		return args, err
	case args.Content == nil:
		return args, refuse("content is missing: give the whole content, \"\" for an empty file.")
	case strings.HasSuffix(args.Path, "/"):
		return args, refuse("%s names a directory: name a file.", show(args.Path))
	case len(*args.Content) > maxFile:
		return args, refuse("content has %d bytes, and at most %d can be written.", len(*args.Content), maxFile)
	}
	return args, nil
}

// Base is the SHA-256 of the content that would be replaced, in hex, or "absent".
func (t fileWrite) Base(ctx context.Context, call tool.Call) (string, error) {
	args, err := t.args(call)
	if err != nil {
		return "", err
	}
	return base(ctx, call, t.home, args.Path)
}

// Preview is a unified diff from what the file is to what it would be.
func (t fileWrite) Preview(ctx context.Context, call tool.Call) (string, error) {
	args, err := t.args(call)
	if err != nil {
		return "", err
	}
	p, err := locate(call, t.home, args.Path, false)
	if isMissing(err) {
		return difference(show(args.Path), snapshot{}, []byte(*args.Content)), nil
	}
	if err != nil {
		return "", err
	}
	defer p.close()
	before, err := p.stat()
	if err == nil && before.exists && before.info.Size() > maxFile {
		return fmt.Sprintf("%s has %d bytes, too many to compare; all of it is replaced by %d bytes.",
			p.shown, before.info.Size(), len(*args.Content)), nil
	}
	if err == nil {
		before, err = p.take(ctx)
	}
	if err != nil {
		return "", err
	}
	return difference(p.shown, before, []byte(*args.Content)), nil
}

func (t fileWrite) Run(ctx context.Context, call tool.Call) (tool.Outcome, error) {
	args, err := t.args(call)
	if err != nil {
		return tell(err)
	}
	text, err := t.write(ctx, call, args)
	if err != nil {
		return tell(err)
	}
	return tool.Text(text), nil
}

func (t fileWrite) write(ctx context.Context, call tool.Call, args writeArgs) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	p, err := locate(call, t.home, args.Path, true)
	if err != nil {
		return "", err
	}
	defer p.close()
	before, err := p.stat()
	if err != nil {
		return "", err
	}
	if err := p.replace(ctx, []byte(*args.Content), before); err != nil {
		return "", err
	}
	if before.exists {
		return fmt.Sprintf("Wrote %d bytes to %s, which had %d bytes.", len(*args.Content), p.shown, before.info.Size()), nil
	}
	return fmt.Sprintf("Created %s with %d bytes.", p.shown, len(*args.Content)), nil
}
