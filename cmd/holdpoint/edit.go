package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aymanbagabas/go-udiff"

	"holdpoint/interaction"
)

// editor is the command that edits a text, as VISUAL and EDITOR say; "" where neither does.
func (c *cli) editor() string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if v, _ := c.getenv(name); strings.TrimSpace(v) != "" {
			return v
		}
	}
	return ""
}

// edit lets the person change the arguments in their editor, the latest draft of them where there is one.
func (t *talk) edit(ctx context.Context) {
	d := t.now
	text, drafted := t.drafts[d.it.ID]
	if !drafted {
		text = draft(d.it.ToolArgs)
	}
	var after []byte
	err := t.keys.borrow(func() (err error) {
		after, err = t.c.runEditor(ctx, text)
		return err
	})
	v := verdictMore
	if err != nil {
		t.c.line(t.c.out, t.c.style.red("not edited:"), err.Error())
		d.back()
	} else {
		if t.drafts == nil {
			t.drafts = map[interaction.ID]string{}
		}
		t.drafts[d.it.ID] = string(after)
		v = d.edited(after)
	}
	if v == verdictMore {
		t.prompt()
	}
}

// draft is what an editor is given: the arguments in their own order, indented, odd characters escaped so that they
// can be seen. Arguments that are no JSON are given as they are.
func draft(args json.RawMessage) string {
	var b bytes.Buffer
	if len(args) == 0 {
		return "{}\n"
	}
	if json.Indent(&b, args, "", "  ") != nil {
		return interaction.VisibleLines(string(args)) + "\n"
	}
	return plainJSON(b.Bytes()) + "\n"
}

// runEditor has a text edited in a file of its own, that only its owner can read.
func (c *cli) runEditor(ctx context.Context, text string) (after []byte, err error) {
	dir, err := os.MkdirTemp("", "holdpoint-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "arguments.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, err
	}
	// As git does it: EDITOR may be a command with options.
	cmd := exec.CommandContext(ctx, "sh", "-c", c.editor()+` "$@"`, "editor", path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.in, c.out, c.err
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("the editor %q failed: %w; set VISUAL or EDITOR to one that works", c.editor(), err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	after, err = io.ReadAll(io.LimitReader(f, interaction.MaxResponseBytes+1))
	if err == nil && len(after) > interaction.MaxResponseBytes {
		err = fmt.Errorf("the edited arguments have more than %d bytes, which no answer may have", interaction.MaxResponseBytes)
	}
	return after, err
}

// sameJSON reports whether two texts are the same JSON but for blanks and escapes. Order and duplicates count.
func sameJSON(a, b []byte) bool {
	plain := func(text []byte) (string, bool) {
		var out bytes.Buffer
		if json.Compact(&out, text) != nil {
			return "", false
		}
		return plainJSON(out.Bytes()), true
	}
	x, ok := plain(a)
	y, ok2 := plain(b)
	return ok && ok2 && x == y
}

// changes shows what edited arguments change: a unified diff for each that is not as it was.
func (c *cli) changes(w io.Writer, before, after json.RawMessage) {
	old, ok := members(before)
	edited, ok2 := members(after)
	if !ok || !ok2 {
		c.part(w, "It was", string(before))
		return
	}
	text := func(list []member, name string) string {
		var b strings.Builder
		for _, m := range list {
			if m.name == name {
				b.WriteString(strings.TrimSuffix(m.text, "\n") + "\n")
			}
		}
		return b.String()
	}
	var names []string
	for _, m := range append(slices.Clone(old), edited...) {
		if !slices.Contains(names, m.name) {
			names = append(names, m.name)
		}
	}
	for _, name := range names {
		if a, b := text(old, name), text(edited, name); a != b {
			fmt.Fprintln(w, c.style.bold("Changed "+interaction.Visible(name)))
			c.diff(w, udiff.Unified("asked", "edited", interaction.VisibleLines(a), interaction.VisibleLines(b)))
		}
	}
}

// isDiff reports whether a text is a unified diff.
func isDiff(text string) bool {
	return strings.HasPrefix(text, "--- ") && strings.Contains(text, "\n+++ ") && strings.Contains(text, "\n@@ ")
}

// diff writes a unified diff behind the edge, with its lines coloured.
func (c *cli) diff(w io.Writer, text string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		line = interaction.VisibleLines(line)
		lead := edge
		for _, piece := range fold(line, c.width-edgeWidth) {
			fmt.Fprintln(w, c.style.faint(lead)+c.style.diffLine(line, piece))
			lead = edgeAgain
		}
	}
}

// diffLine colours a piece of a diff's line as the whole line asks for.
func (s style) diffLine(line, piece string) string {
	switch {
	case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "@@ "):
		return s.bold(piece)
	case strings.HasPrefix(line, "+"):
		return s.green(piece)
	case strings.HasPrefix(line, "-"):
		return s.red(piece)
	}
	return piece
}
