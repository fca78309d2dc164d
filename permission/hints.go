package permission

import (
	"slices"
	"strings"
)

// maxHints bounds the commands looked for inside arguments.
const maxHints = 200

// hints looks for commands spelled inside an argument, such as
// system("rm x"): whether they run is not known, so a deny there asks.
func (w *walker) hints(p *part) { w.hintsIn(p, p.cmd.words[1:]) }

func (w *walker) hintsIn(p *part, words []word) {
	for _, a := range words {
		texts := []string{a.text}
		if len(a.text) > 2 && a.text[0] == '-' && a.text[1] != '-' {
			// A value may be glued to an option's letter.
			for at := 2; at < min(len(a.text), 6); at++ {
				texts = append(texts, strings.ToValidUTF8(a.text[at:], ""))
			}
		}
		for _, text := range texts {
			if len(p.inner) > maxHints+len(p.cmd.words) || !strings.ContainsAny(text, " \t\n(!=;,") {
				continue
			}
			w.hint(p, text)
		}
	}
}

// listed makes words of what is a list elsewhere, as ["rm", "x"] is in most languages.
var listed = strings.NewReplacer("=", " ", "!", " ", "$", " ", ":", " ", ",", " ", "[", " ", "]", " ")

func (w *walker) hint(p *part, text string) {
	found := &script{places: w.places}
	found.suspect(listed.Replace(text))
	for _, c := range found.suspects[:min(len(found.suspects), maxHints)] {
		for i := range c.words[:min(len(c.words), maxHints)] {
			p.inner = append(p.inner, c.from(i))
		}
	}
}

// hiddenIn looks for commands in what a variable is set to: a program may run it, as git does with PAGER, and the shell
// may evaluate it later, as a subscript or a prompt.
func (w *walker) hiddenIn(p *part, a word) {
	if _, value, ok := strings.Cut(a.text, "="); ok && value != "" {
		w.hint(p, value)
	}
}

// suffixes marks every tail of the words as a command the program may run.
func (w *walker) suffixes(p *part) {
	if !w.places.work.within(&w.places.work.inner, len(p.cmd.words), maxInner) {
		w.tails = append(w.tails, p.cmd)
		return
	}
	for i := 1; i < len(p.cmd.words); i++ {
		p.inner = append(p.inner, p.cmd.from(i))
	}
}

// hiddenText tries deny on text that a declaration may evaluate.
func (w *walker) hiddenText(p *part) {
	for _, a := range p.cmd.words {
		if strings.Contains(a.text, "$(") || strings.Contains(a.text, "`") {
			w.suspect(a.text)
		}
	}
}

// moreSubcommands are programs with subcommands for which no rules are suggested.
var moreSubcommands = set(`deno nerdctl oc tofu pulumi aws gcloud gsutil az glab pipx pdm conda mamba launchctl aptitude dnf yum zypper pacman apk
	snap flatpak gem sbt heroku fly flyctl vercel netlify wrangler firebase supabase nomad consul vault kustomize argocd
	flux istioctl doctl hcloud linode-cli ansible-galaxy vagrant packer skaffold minikube kind k3d eksctl kops stripe svn
	hg`)

// hasSubcommands reports whether a program's first operand says what it does. Not of git, whose options are known.
func hasSubcommands(name string) bool {
	_, suggested := subcommands[name]
	return suggested && name != "git" || moreSubcommands[name]
}

// Bounds of behindOptions: the words at which it looks, and what it finds.
const (
	maxSubcommand = 4
	maxBehind     = 24
)

// behindOptions marks what a command is without the options before its subcommands, and without a value behind each: of npm -s publish,
// npm publish. Which options take a value is not known, so that a deny of what is left asks.
func (w *walker) behindOptions(p *part) {
	for left, n := [][]word{p.cmd.words}, 0; len(left) > 0 && n < maxBehind; left = left[1:] {
		for _, words := range withoutOptions(left[0]) {
			if n++; n > maxBehind {
				return
			}
			p.behind = append(p.behind, &part{kind: partCommand, cmd: command{words: words}})
			left = append(left, words)
		}
	}
}

// withoutOptions drops the first options of a command, in each way in which they may have values.
func withoutOptions(words []word) (out [][]word) {
	at := 1
	for at < len(words) && !optionLike(words[at]) {
		at++
	}
	if at >= min(len(words), maxSubcommand) {
		return nil
	}
	for ends := []int{at}; len(ends) > 0 && len(out) < maxSubcommand; ends = ends[1:] {
		end := ends[0]
		if end >= len(words) || !optionLike(words[end]) {
			out = append(out, slices.Concat(words[:at:at], words[min(end, len(words)):]))
			continue
		}
		ends = append(ends, end+1)
		if end+1 < len(words) && !optionLike(words[end+1]) {
			ends = append(ends, end+2)
		}
	}
	return out
}

func optionLike(a word) bool { return len(a.text) > 1 && (a.text[0] == '-' || a.text[0] == '+') }
