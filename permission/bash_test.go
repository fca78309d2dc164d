package permission

import (
	"context"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// bashRuns gives the commands bash really runs for a text: every program is
// unknown to it, and the handler for unknown programs reports the words.
func bashRuns(t *testing.T, bash, text string) ([][]string, bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	script := `command_not_found_handle() { local s= w; for w; do s+=$'\1'$w; done; printf '%s\2' "$s"; } >&9 2>/dev/null` + "\n"
	cmd := exec.CommandContext(ctx, bash, "--norc", "--noprofile", "-c", script+`exec 9>&1 >/dev/null 2>&1 </dev/null; eval "$1"`, "bash", text)
	cmd.Dir, cmd.Env = t.TempDir(), []string{"PATH=/nonexistent"}
	out, _ := cmd.Output()
	var runs [][]string
	for run := range strings.SplitSeq(string(out), "\x02") {
		if words := strings.Split(run, "\x01"); len(words) > 1 {
			runs = append(runs, words[1:])
		}
	}
	return runs, ctx.Err() == nil
}

// TestWhatBashRunsIsWhatWasFound compares the analysis with bash itself on
// random text: a command that bash runs and that is no part would be run
// unseen.
func TestWhatBashRunsIsWhatWasFound(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatalf("the analysis is held against bash, which is not installed: %v", err)
	}
	tokens := []string{"aa", "bb", "cc", "aa bb", " ", " ", "\n", "\\\n", ";", " && ", " || ", " | ", " #", "#", "\\", "'", "\"", "`", "$(", ")", "( ", " { ", " }", ";}", " <<E\n", "\nE\n", "<<'E'\n", "$", "! ", "=", "{aa,bb}", "{", ",", "..", "$'", "\\x61", "$\"",
		"[", "]", "<(", "if aa; then bb; fi", "f() ", "((", "))", "[[ a", " ]]", "${x:-", "}", "&", "case a in a) ", ";; esac", "for i in a; do ", "; done", "x=", "-", "\t", "time ", "coproc ", "<<<", "&>/dev/null ", "2>&1", "a=(", "\\\\", "$((", "*", "E", "<<-E\n", "${x#", "${y", "\"${x-", "\\`", "let a=1", "declare -a 'a=("}
	random := rand.New(rand.NewPCG(1, uint64(time.Now().UnixNano())))
	for round := range bashRounds {
		var b strings.Builder
		from, most := tokens, 9
		if round%2 == 1 { // few tokens, often: what matters only together comes together
			from, most = nil, 16
			for range 3 + random.IntN(6) {
				from = append(from, tokens[random.IntN(len(tokens))])
			}
			if random.IntN(3) == 0 {
				from = append(from, " <<E\n", "\nE\n", "aa", "\\\n", "'")
			}
		}
		for range 1 + random.IntN(most) {
			b.WriteString(from[random.IntN(len(from))])
		}
		text := b.String()
		runs, finished := bashRuns(t, bash, text)
		s := &script{places: newPlaces(Call{Workspace: "/w"})}
		s.script(text, cwd{"/w"}, nil)
		if !finished || len(s.faults) > 0 {
			continue
		}
		for _, run := range runs {
			if !slices.ContainsFunc(s.parts, func(p *part) bool { return p.becomes(run) }) {
				t.Fatalf("bash runs %q in %q, which is none of the parts %q", run, text, partTexts(s.parts))
			}
		}
	}
}

const bashRounds = 150

func (p *part) becomes(run []string) bool {
	if p.doubt != "" {
		return true // it asks
	}
	if p.kind != partCommand {
		return false
	}
	var subject []byte
	for _, w := range run {
		subject = appendWord(subject, w)
	}
	var q sequence
	for i, w := range p.cmd.words {
		if i > 0 {
			q = append(q, token{op: opLit, r: wordSep})
		}
		if w.possible != nil {
			q = append(q, w.possible.inWord()...)
		} else {
			q = append(q, literal(joined(w.text))...)
		}
	}
	// A word that is nothing but a substitution may vanish.
	return q.match([]rune(trimMark(subject)), 0) || !p.cmd.sure()
}

func partTexts(parts []*part) []string {
	var out []string
	for _, p := range parts {
		out = append(out, p.text)
	}
	return out
}
