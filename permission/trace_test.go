package permission

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// grammar writes random scripts by the grammar of bash.
type grammar struct {
	*rand.Rand
	depth, functions int
}

// name is one that no other function has, for a function that called itself would not end.
func (g *grammar) name() string {
	g.functions++
	return fmt.Sprintf("f%d", g.functions)
}

func (g *grammar) pick(from ...string) string { return from[g.IntN(len(from))] }

// inner is a command for a place inside another.
func (g *grammar) inner() string {
	if g.depth >= 3 {
		return g.pick("aa", "bb x", "echo y", "true")
	}
	g.depth++
	defer func() { g.depth-- }()
	return g.pick(g.simple(), g.simple(), g.simple()+" | "+g.simple(), g.simple()+"; "+g.simple(), " ( "+g.simple()+" )")
}

func (g *grammar) word() string {
	if g.IntN(3) > 0 {
		return g.pick("x", "'a b'", `"c d"`, "-n", `\x`, "{p,q}", "*.none", "''", `$'\x61'`, "a=b", "!")
	}
	return g.pick("$("+g.inner()+")", `"$(`+g.inner()+`)"`, "<("+g.inner()+")", "x$("+g.inner()+")y")
}

func (g *grammar) words() string {
	var b strings.Builder
	for range g.IntN(3) {
		b.WriteString(" " + g.word())
	}
	return b.String()
}

func (g *grammar) simple() string {
	plain := g.pick("aa", "bb", "cc") + g.words()
	switch g.IntN(12) {
	case 0:
		return g.pick("echo", "true", "false", ":", "printf %s", "test x =", "type", "pwd", "hash", "umask") + g.words()
	case 1:
		return g.pick("v=1", "v=$("+g.inner()+")", "v=1 "+plain, "export v=2", "declare w=$("+g.inner()+")", "readonly r$RANDOM", "unset none", "local none", "let n=1", "(( n = 1 ))", "[[ -n $v ]]", "[[ $("+g.inner()+") = x ]]", "a=(1 $("+g.inner()+"))")
	case 2, 3:
		return g.pick("command", "builtin echo", "time", "eval", "env", "env e=1", "nice", "nohup", "timeout 9", "xargs -n 1 -a list", "exec", "stdbuf -oL", "setsid -w") + " " + plain
	case 4:
		return g.pick("bash -c 'aa; bb'", `sh -c "cc x"`, "eval 'aa z; echo q'", "trap 'bb' EXIT", "trap 'cc' DEBUG; aa", "find . -maxdepth 0 -exec aa {} \\;", "bash <<< 'aa'", "echo aa | sh", "alias q='bb'", "cd .", "pushd . && popd", "read z <<< $("+g.inner()+")", "mapfile m < list")
	case 5:
		return plain + g.pick(" >/dev/null", " 2>&1", " > out", " < list", ` <<< "$(`+g.inner()+`)"`, " &>/dev/null", " 3>&1", " >| out", " >> out")
	default:
		return plain
	}
}

func (g *grammar) statement() string {
	if g.depth >= 3 {
		return g.simple() + "\n"
	}
	g.depth++
	defer func() { g.depth-- }()
	s := g.statement
	switch g.IntN(18) {
	case 0:
		return "if " + s() + "then " + s() + "elif " + s() + "then " + s() + "else " + s() + "fi\n"
	case 1:
		return "for i in 1 ${none:-$(" + g.inner() + ")}; do " + s() + "done\n"
	case 2:
		return "while " + s() + "do " + s() + "break; done\n"
	case 3:
		return "until " + s() + "do " + s() + "break; done\n"
	case 4:
		return "case $(echo a; " + g.inner() + ") in a) " + s() + ";; b) " + s() + ";& *) " + s() + ";; esac\n"
	case 5:
		f := g.name()
		return f + "() { " + s() + "}; " + f + " x\n"
	case 6:
		f := g.name()
		return "function " + f + "() ( " + s() + "); " + f + "\n"
	case 7:
		return "( " + s() + ")" + g.pick("", " >/dev/null", " && aa") + "\n"
	case 8:
		return "{ " + s() + "}" + g.pick("", " 2>&1", " | cc") + "\n"
	case 9:
		return g.simple() + g.pick(" && ", " || ", " | ", "; ", " |& ", " & ", "\n") + s()
	case 10:
		return "cat <<E\nt $(" + g.inner() + ") `bb`\nE\n"
	case 11:
		return "cat <<'E'\nt $(cc) `bb`\nE\n"
	case 12:
		return "for (( i = 0; i < 1; i++ )); do " + s() + "done\n"
	case 13:
		return "coproc " + g.pick("aa", "bb", "cc") + g.words() + g.pick("", " >/dev/null", " && cc") + "\nwait\n"
	case 14:
		return g.simple() + " # " + g.simple() + "\n"
	default:
		return g.simple() + "\n"
	}
}

// tracer runs scripts with every command written down: the shell's own by a trap, programs by what stands in the PATH.
type tracer struct{ bash, path string }

func newTracer(t *testing.T) tracer {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatalf("the analysis is held against bash, which is not installed: %v", err)
	}
	tr := tracer{bash, t.TempDir()}
	for _, name := range []string{"aa", "bb", "cc"} {
		text := fmt.Sprintf("#!%s\ns=P$'\\1'%s; for w; do s+=$'\\1'$w; done; printf '%%s\\2' \"$s\" >> \"$TRACE\"\n", bash, name)
		if err := os.WriteFile(filepath.Join(tr.path, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bash", "sh", "cat", "env", "nice", "nohup", "timeout", "xargs", "stdbuf", "setsid", "find"} {
		if real, err := exec.LookPath(name); err == nil {
			if err := os.Symlink(real, filepath.Join(tr.path, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return tr
}

// run gives what ran: the words of programs, and the text of the shell's own commands.
func (tr tracer) run(t *testing.T, text string) (programs [][]string, texts []string) {
	t.Helper()
	work := t.TempDir() // of this run alone, for a script may leave something behind that goes on
	trace := filepath.Join(work, "trace")
	if err := os.WriteFile(filepath.Join(work, "list"), []byte("l1\nl2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	script := "exec </dev/null >/dev/null 2>&1; nl=$'\\n' etx=$'\\3'; set -T; trap 'printf \"D\\1%s\\2\" \"${BASH_COMMAND//$nl/$etx}\" >> \"$TRACE\"' DEBUG\n" + text + "\n"
	cmd := exec.CommandContext(ctx, tr.bash, "--norc", "--noprofile", "-c", script)
	cmd.Dir, cmd.Env = work, []string{"PATH=" + tr.path, "HOME=" + work, "TRACE=" + trace, "FUNCNEST=20"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // whatever it leaves behind ends with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	defer func() { _ = cmd.Cancel() }()
	if out, err := cmd.CombinedOutput(); ctx.Err() != nil {
		t.Fatalf("%q does not end: %v\n%s", text, err, out)
	}
	found, err := os.ReadFile(trace)
	if err != nil {
		t.Fatal(err)
	}
	for entry := range strings.SplitSeq(string(found), "\x02") {
		words := strings.Split(entry, "\x01")
		switch words[0] {
		case "P":
			programs = append(programs, words[1:])
		case "D":
			texts = append(texts, strings.ReplaceAll(words[1], "\x03", "\n")) // a line is written at a time
		}
	}
	return programs, texts
}

// heads are how the shell reports that a compound command begins.
var heads = []string{"for ", "case ", "select "}

// Whatever bash runs of a script, builtins too, is among the parts that were judged.
func TestEveryCommandOfAScriptIsAPart(t *testing.T) {
	t.Parallel()
	tr := newTracer(t)
	seed := uint64(time.Now().UnixNano())
	g := &grammar{Rand: rand.New(rand.NewPCG(7, seed))}
	ran, judged := 0, 0
	for range scriptRounds {
		text := g.statement() + g.pick("", g.statement())
		s := analysed(text)
		if len(s.faults) > 0 || slices.ContainsFunc(s.parts, func(p *part) bool { return p.doubt != "" }) {
			continue // it asks
		}
		judged++
		programs, texts := tr.run(t, text)
		for _, run := range programs {
			ran++
			if !slices.ContainsFunc(s.parts, func(p *part) bool { return p.becomes(run) }) {
				t.Fatalf("seed %d: bash runs %q in\n%s\nwhich is none of the parts %q", seed, run, text, partTexts(s.parts))
			}
		}
		for _, command := range texts {
			if slices.ContainsFunc(heads, func(h string) bool { return strings.HasPrefix(command, h) }) {
				continue
			}
			if strings.Contains(command, "$TRACE") {
				continue // its own trap, that a subshell without it shows
			}
			if sum, ok := strings.CutPrefix(command, "(("); ok && slices.ContainsFunc(s.parts, func(p *part) bool {
				return p.kind == partStatement && strings.Contains(p.text, strings.TrimSuffix(sum, "))"))
			}) {
				continue // the head of a loop has three
			}
			ran++
			for _, p := range analysed(command).parts {
				if !slices.ContainsFunc(s.parts, p.sameWords) {
					t.Fatalf("seed %d: bash runs %q in\n%s\nof which %q is none of the parts %q", seed, command, text, p.text, partTexts(s.parts))
				}
			}
		}
	}
	if judged < scriptRounds/2 || ran < judged {
		t.Errorf("only %d scripts of %d were judged, and %d commands ran", judged, scriptRounds, ran)
	}
}

const scriptRounds = 120

func analysed(text string) *script {
	s := &script{places: newPlaces(Call{Workspace: "/w", Home: "/h"})}
	s.script(text, cwd{"/w"}, nil)
	return s
}

func (p *part) sameWords(o *part) bool {
	return p.kind == o.kind && slices.Equal(p.cmd.texts(), o.cmd.texts()) &&
		slices.EqualFunc(p.cmd.assigns, o.cmd.assigns, func(a, b word) bool { return a.text == b.text })
}
