package permission

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// pathBase is the directory a path pattern starts from.
type pathBase uint8

const (
	baseWorkspace pathBase = iota
	baseHome
	baseRoot
)

// pathGlob is one alternative of a path pattern, relative to its base.
type pathGlob struct {
	base pathBase
	// up is how many levels above its base the pattern starts.
	up   int
	seq  packed
	fold packed
	// lead is the literal directory in front of the first wildcard, relative to
	// the base; it is resolved when a deny is evaluated.
	lead string
	// tail is the number of tokens of lead within seq.
	tail int
}

type pathPattern struct{ globs []pathGlob }

var (
	errPathEmpty = errors.New("the path pattern is empty: write ./**, ~/dir/** or an absolute path")
	errPathUp    = errors.New(`".." after a wildcard names no fixed place: write the directory itself`)
	errPathUser  = errors.New(`"~name" is not expanded: write ~/ or the absolute path`)
)

// parsePathPattern reads a path glob. For deny and ask the wider reading of a
// doubtful form is taken, for allow the narrower.
func parsePathPattern(effect Effect, s string) (*pathPattern, error) {
	if strings.TrimSpace(s) == "" {
		return nil, errPathEmpty
	}
	if odd := oddText(s, ""); odd != "" {
		return nil, fmt.Errorf("the path pattern contains %s", odd)
	}
	alternatives, err := expandBraces(norm.NFC.String(s))
	if err != nil {
		return nil, err
	}
	p := &pathPattern{}
	for _, a := range alternatives {
		globs, err := parsePathGlob(effect, a)
		if err != nil {
			return nil, err
		}
		p.globs = append(p.globs, globs...)
	}
	return p, nil
}

func parsePathGlob(effect Effect, s string) ([]pathGlob, error) {
	wide := effect != Allow
	if wide && (s == "*" || s == "**") {
		return []pathGlob{newPathGlob(baseRoot, nil), newPathGlob(baseRoot, sequence{{op: opDeep}})}, nil
	}
	base, rest := baseWorkspace, s
	switch {
	case strings.HasPrefix(s, "/"):
		base = baseRoot
	case s == "~" || strings.HasPrefix(s, "~/"):
		base, rest = baseHome, s[1:]
	case strings.HasPrefix(s, "~"):
		return nil, errPathUser
	case wide && strings.HasPrefix(s, "**/"):
		base = baseRoot
	}
	segments, err := pathSegments(base, rest)
	if err != nil {
		return nil, err
	}
	up := 0
	for len(segments) > 0 && segments[0] == ".." {
		up, segments = up+1, segments[1:]
	}
	forms := [][]string{segments}
	last := len(segments) - 1
	if wide && last >= 0 && segments[last] == "**" {
		forms = append(forms, segments[:last])
	}
	var variants []sequence
	for _, f := range forms {
		q, err := joinSegments(f, wide)
		if err != nil {
			return nil, err
		}
		variants = append(variants, q)
	}
	if wide && last >= 0 && len(forms) == 1 && strings.HasSuffix(rest, "/") {
		variants = append(variants, append(slices.Clone(variants[0]), token{op: opLit, r: '/'}, token{op: opDeep}))
	}
	var globs []pathGlob
	for _, q := range variants {
		g := newPathGlob(base, q)
		g.up = up
		globs = append(globs, g)
	}
	return globs, nil
}

// pathSegments cleans a pattern the way a path is cleaned.
func pathSegments(base pathBase, s string) ([]string, error) {
	var out []string
	for segment := range strings.SplitSeq(s, "/") {
		switch segment {
		case "", ".":
		case "..":
			if len(out) == 0 && base == baseRoot {
				continue
			}
			if len(out) > 0 && strings.ContainsAny(out[len(out)-1], "*?[") {
				return nil, errPathUp
			}
			if len(out) == 0 || out[len(out)-1] == ".." {
				out = append(out, "..")
				continue
			}
			out = out[:len(out)-1]
		default:
			out = append(out, segment)
		}
	}
	return out, nil
}

func joinSegments(segments []string, wide bool) (sequence, error) {
	var q sequence
	for i, segment := range segments {
		last := i == len(segments)-1
		if segment == "**" && !last {
			q = append(q, token{op: opDirs}, token{op: opDirsMid})
			continue
		}
		if segment == "**" {
			// At least one character: a/** is not a/ itself.
			q = append(q, token{op: opOne}, token{op: opDeep})
			continue
		}
		tokens, err := parseSegment(segment, wide)
		if err != nil {
			return nil, err
		}
		q = append(q, tokens...)
		if !last {
			q = append(q, token{op: opLit, r: '/'})
		}
	}
	return q, nil
}

func parseSegment(s string, wide bool) (sequence, error) {
	var q sequence
	rs := []rune(s)
	for i := 0; i < len(rs); i++ {
		switch rs[i] {
		case '*':
			star := token{op: opStar}
			if i+1 < len(rs) && rs[i+1] == '*' {
				if i++; wide {
					star.op = opDeep
				}
			}
			q = append(q, star)
		case '?':
			q = append(q, token{op: opOne})
		case '[':
			class, n, err := parseClass(rs[i:])
			if err != nil {
				return nil, err
			}
			q = append(q, class)
			i += n - 1
		case '\\':
			if i++; i == len(rs) {
				return nil, errEscape
			}
			q = append(q, token{op: opLit, r: rs[i]})
		default:
			q = append(q, token{op: opLit, r: rs[i]})
		}
	}
	return q, nil
}

func newPathGlob(base pathBase, q sequence) pathGlob {
	g := pathGlob{base: base, seq: q.pack(), fold: q.folded().pack()}
	end := 0
	var lead []rune
	for i, t := range q {
		if t.op != opLit {
			break
		}
		lead = append(lead, t.r)
		if t.r == '/' {
			end = i + 1
		} else if i == len(q)-1 {
			end = i + 1
		}
	}
	g.lead, g.tail = string(lead[:end]), end
	return g
}
