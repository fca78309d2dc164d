package config

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is one mistake in a configuration.
type Problem struct {
	Pos Pos
	// Key is the path of the key inside its document, such as rules[2].match.
	Key string
	// Text says what is wrong and how to mend it. It never has a value that came from the environment.
	Text string
	// Unread is set on a warning of an allow whose pattern can't be read: it stops nothing that starts, and is a mistake
	// all the same to whoever asks for those.
	Unread bool
}

// String is file:line: key: text.
func (p Problem) String() string {
	if p.Key == "" {
		return p.Pos.String() + ": " + p.Text
	}
	return p.Pos.String() + ": " + p.Key + ": " + p.Text
}

// Error is every mistake that was found, in the order of reading. It has at least one.
type Error struct{ Problems []Problem }

// maxShown bounds how many mistakes an error prints; Problems has them all.
const maxShown = 50

// Error has one line per mistake.
func (e *Error) Error() string {
	lines := make([]string, 0, min(len(e.Problems), maxShown)+1)
	for i, p := range e.Problems {
		if i == maxShown {
			lines = append(lines, fmt.Sprintf("and %d more", len(e.Problems)-maxShown))
			break
		}
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// didYouMean is ` (did you mean "x"?)` for the known name nearest to got, the known ones where none is near
// and they are few, and "" otherwise.
func didYouMean(got string, known []string) string {
	if near := nearest(got, known); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	if len(known) == 0 || len(known) > 20 {
		return ""
	}
	return " (known: " + strings.Join(known, ", ") + ")"
}

// nearest is the known name that a slip of the fingers could have turned into got, or "".
func nearest(got string, known []string) string {
	best, bestDistance := "", len(got)/3+1
	if len(got) > 100 {
		return ""
	}
	for _, k := range known {
		if d := distance(strings.ToLower(got), strings.ToLower(k)); d <= bestDistance && (best == "" || d < bestDistance) {
			best, bestDistance = k, d
		}
	}
	return best
}

// distance is how many letters must be inserted, removed, replaced or swapped with their neighbour.
func distance(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}

// sortProblems orders by the order of files, then by line; problems of one line keep the order they were
// found in.
func sortProblems(problems []Problem, files map[string]int) {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		if d := files[a.Pos.File] - files[b.Pos.File]; d != 0 {
			return d
		}
		return a.Pos.Line - b.Pos.Line
	})
}
