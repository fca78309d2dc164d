package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/width"

	"holdpoint/interaction"
)

// style colours text at a terminal. The zero value leaves it as it is.
type style struct{ on bool }

// newStyle honours NO_COLOR (no-color.org) and terminals that know no colours.
func newStyle(getenv func(string) (string, bool)) style {
	no, _ := getenv("NO_COLOR")
	kind, _ := getenv("TERM")
	return style{on: no == "" && kind != "dumb"}
}

func (s style) paint(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (s style) bold(text string) string   { return s.paint("1", text) }
func (s style) faint(text string) string  { return s.paint("2", text) }
func (s style) red(text string) string    { return s.paint("31", text) }
func (s style) green(text string) string  { return s.paint("32", text) }
func (s style) yellow(text string) string { return s.paint("33", text) }

// risk colours a risk by how bad it is.
func (s style) risk(text, risk string) string {
	switch risk {
	case "critical", "high":
		return s.red(text)
	case "medium":
		return s.yellow(text)
	}
	return text
}

// The left edge of foreign text. Nothing in the text can imitate a line of ours, which has no such edge: at a
// terminal, long lines are broken here, so that they do not run on into its first column.
const (
	edge      = "  │ "
	edgeAgain = "  ┊ " // the same line goes on
	edgeWidth = 4
)

// block writes foreign text whole, every odd character escaped, behind an edge.
func (c *cli) block(w io.Writer, text string) {
	e := &edged{c: c, w: w}
	e.write(strings.TrimSuffix(text, "\n"))
	e.end()
}

// edged writes foreign text behind an edge, piece by piece.
type edged struct {
	c    *cli
	w    io.Writer
	open bool // a line is begun
	used int  // columns of it
}

// write adds text, odd characters escaped.
func (e *edged) write(text string) {
	room := e.c.width - edgeWidth
	var b strings.Builder
	for _, r := range interaction.VisibleLines(text) {
		if !e.open {
			b.WriteString(e.c.style.faint(edge))
			e.open, e.used = true, 0
		}
		if r == '\n' {
			b.WriteByte('\n')
			e.open = false
			continue
		}
		n := cells(r)
		if room >= minFold && e.used+n > room {
			b.WriteString("\n" + e.c.style.faint(edgeAgain))
			e.used = 0
		}
		b.WriteRune(r)
		e.used += n
	}
	if text == "" && !e.open { // an empty text is shown as such
		b.WriteString(e.c.style.faint(edge))
		e.open = true
	}
	_, _ = io.WriteString(e.w, b.String())
}

// end finishes the line.
func (e *edged) end() {
	if e.open {
		fmt.Fprintln(e.w)
	}
	e.open = false
}

// line writes a head of ours and one line of foreign text, broken where the terminal would break it.
func (c *cli) line(w io.Writer, head, text string) {
	text = interaction.Visible(text)
	pieces := fold(text, c.width-utf8.RuneCountInString(head)-1)
	fmt.Fprintln(w, strings.TrimSuffix(head+" "+pieces[0], " "))
	if len(pieces) == 1 {
		return
	}
	for _, p := range fold(strings.TrimPrefix(text, pieces[0]), c.width-edgeWidth) {
		fmt.Fprintf(w, "%s%s\n", c.style.faint(edgeAgain), p)
	}
}

// minFold is the width below which nothing is broken: no terminal is that narrow.
const minFold = 8

// fold cuts a line into pieces of at most columns columns; fewer than minFold leave it whole.
func fold(line string, columns int) []string {
	if columns < minFold {
		return []string{line}
	}
	var out []string
	start, used := 0, 0
	for i, r := range line {
		n := cells(r)
		if used+n > columns {
			out = append(out, line[start:i])
			start, used = i, 0
		}
		used += n
	}
	return append(out, line[start:])
}

// cells is how many columns a character takes at most.
func cells(r rune) int {
	if r == '\t' {
		return 8
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth, width.EastAsianAmbiguous:
		return 2
	default:
		return 1
	}
}

// shellWord quotes what a shell would not read as one plain word.
func shellWord(s string) string {
	safe := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-:/@+,=", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !safe(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
