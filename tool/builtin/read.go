package builtin

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// fileRead shows a text file, or what is in a directory.
type fileRead struct {
	home  string
	limit int // bytes of content
}

type readArgs struct {
	Path   string `json:"path"`
	Offset *int   `json:"offset"`
	Limit  *int   `json:"limit"`
}

// maxLine bounds offset and limit.
const maxLine = 1 << 30

func newRead(cfg Config) tool.Tool { return fileRead{cfg.home(), cfg.MaxOutput - notesRoom} }

const readSchema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "minLength": 1, "maxLength": 4096, "description": "The file or directory, relative to the workspace or absolute."},
		"offset": {"type": "integer", "minimum": 1, "maximum": 1073741824, "description": "The line to begin with, from 1."},
		"limit": {"type": "integer", "minimum": 1, "maximum": 1073741824, "description": "How many lines to read; all that fit if absent."}
	},
	"required": ["path"],
	"additionalProperties": false
}`

func (fileRead) Definition() tool.Definition {
	return tool.Definition{
		Name: NameFileRead,
		Description: "Reads a text file, as it stands, or lists a directory. Of a large file the lines that fit " +
			"are returned, with a note how to read on.",
		Schema:     json.RawMessage(readSchema),
		Resource:   tool.ResourceRead,
		Field:      "path",
		Closed:     true,
		Consent:    tool.ConsentOutside,
		Risk:       "low",
		Idempotent: true,
		Quick:      true,
		Timeout:    fileTimeout,
	}
}

func (t fileRead) Run(ctx context.Context, call tool.Call) (tool.Outcome, error) {
	text, err := t.read(ctx, call)
	if err != nil {
		return tell(err)
	}
	return tool.Text(text), nil
}

func (t fileRead) read(ctx context.Context, call tool.Call) (string, error) {
	args, err := decode[readArgs](call)
	if err != nil {
		return "", err
	}
	offset, err := lineNumber("offset", args.Offset, 1)
	if err != nil {
		return "", err
	}
	limit, err := lineNumber("limit", args.Limit, maxLine)
	if err != nil {
		return "", err
	}
	p, err := locate(call, t.home, args.Path, false)
	if err != nil {
		return "", err
	}
	defer p.close()
	f, info, err := p.open()
	if err != nil {
		return "", err
	}
	defer f.Close()
	if info.IsDir() {
		return t.list(p, f)
	}
	return t.text(ctx, p, f, info, page{offset: offset, limit: limit, room: t.limit})
}

func lineNumber(name string, v *int, def int) (int, error) {
	switch {
	case v == nil:
		return def, nil
	case *v < 1 || *v > maxLine:
		return 0, refuse("%s is %d: give a number from 1 to %d.", name, *v, maxLine)
	}
	return *v, nil
}

// sniff is how much of a file is looked at to tell whether it is text.
const sniff = 8 << 10

func (t fileRead) text(ctx context.Context, p *place, f *os.File, info fs.FileInfo, pg page) (string, error) {
	in := bufio.NewReaderSize(reader{ctx, f}, sniff)
	head, err := in.Peek(sniff)
	if len(head) == 0 {
		if err != nil && ctx.Err() != nil {
			return "", ctx.Err()
		}
		return fmt.Sprintf("[%s is empty]", p.shown), nil
	}
	if binary(head) {
		return fmt.Sprintf("[%s is not UTF-8 text and is not shown: %s, %d bytes]",
			p.shown, http.DetectContentType(head), info.Size()), nil
	}
	if err := pg.read(in); err != nil {
		return "", pathError(p.shown, err)
	}
	if pg.lines == 0 {
		return "", refuse("%s has %s: offset %d is behind its end.", p.shown, lineCount(pg.line), pg.offset)
	}
	out := safe(string(pg.text))
	var notes []string
	if foreign(pg.text) {
		notes = append(notes, "Bytes that are not UTF-8 are shown as \uFFFD.")
	}
	if pg.cut {
		notes = append(notes, fmt.Sprintf("Line %d is too long: only its beginning is shown.", pg.offset))
	}
	if pg.more {
		next := pg.offset + pg.lines
		notes = append(notes, fmt.Sprintf("These are lines %d to %d of %s, which has %d bytes. To read on: offset %d.",
			pg.offset, next-1, p.shown, info.Size(), next))
	}
	if len(notes) == 0 {
		return out, nil
	}
	if len(out) > t.limit { // replacing bytes may have made it longer
		out = clipMiddle(out, t.limit)
	}
	return out + "\n[" + strings.Join(notes, " ") + "]", nil
}

func lineCount(n int) string {
	if n == 1 {
		return "1 line"
	}
	return fmt.Sprintf("%d lines", n)
}

// maxEntries bounds how many entries of a directory are listed, and maxScanned how many are looked at.
const (
	maxEntries = 1000
	maxScanned = 20_000
)

// list names what is in a directory, in order: directories end in "/", symlinks show where they point, files
// have their size.
func (t fileRead) list(p *place, dir *os.File) (string, error) {
	entries, err := dir.ReadDir(maxScanned)
	if len(entries) == 0 {
		if err != nil && !errors.Is(err, io.EOF) {
			return "", pathError(p.shown, err)
		}
		return fmt.Sprintf("[%s is an empty directory]", p.shown), nil
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	var b strings.Builder
	n := 0
	for _, e := range entries {
		line := entryLine(p, e)
		if n == maxEntries || b.Len()+len(line) > t.limit {
			break
		}
		b.WriteString(line)
		n++
	}
	if n < len(entries) {
		fmt.Fprintf(&b, "[%d more entries are not listed: use a more exact path]", len(entries)-n)
	}
	return b.String(), nil
}

func entryLine(p *place, e fs.DirEntry) string {
	name := interaction.Visible(e.Name())
	switch {
	case e.IsDir():
		return name + "/\n"
	case e.Type()&fs.ModeSymlink != 0:
		target, err := p.dir.Readlink(filepath.Join(p.base, e.Name()))
		if err != nil {
			return name + " (symlink)\n"
		}
		return name + " -> " + clip(interaction.Visible(target), 200) + "\n"
	case !e.Type().IsRegular():
		return name + " (" + kind(e.Type()) + ")\n"
	}
	info, err := e.Info()
	if err != nil {
		return name + "\n"
	}
	return fmt.Sprintf("%s (%d bytes)\n", name, info.Size())
}
