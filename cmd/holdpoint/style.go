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
)

// block writes foreign text whole, every odd character escaped, behind an edge.
func (c *cli) block(w io.Writer, text string) {
	for line := range strings.SplitSeq(strings.TrimSuffix(interaction.VisibleLines(text), "\n"), "\n") {
		left := edge
		for _, piece := range fold(line, c.width-utf8.RuneCountInString(edge)) {
			fmt.Fprintf(w, "%s%s\n", c.style.faint(left), piece)
			left = edgeAgain
		}
	}
}

// fold cuts a line into pieces of at most columns columns; a width of a few columns, or none, leaves it whole.
func fold(line string, columns int) []string {
	if columns < 8 {
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
