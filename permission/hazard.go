package permission

import (
	"regexp"
	"slices"
	"strings"
)

// flagSet lists a program's flags that execute or write. A wildcard rule for
// the program does not cover them.
type flagSet struct {
	// long names, without dashes; abbreviations count, as GNU programs accept
	// them.
	long []string
	// short letters, found in clusters too.
	short string
	// valued are short letters that swallow the rest of their cluster.
	valued string
	// single: long names take one dash and are never abbreviated (find, go).
	single bool
}

var hazardFlags = map[string]flagSet{
	"find": {single: true, long: []string{"exec", "execdir", "ok", "okdir", "delete", "fprint", "fprint0", "fprintf", "fls"}},
	"rg":   {long: []string{"pre", "hostname-bin", "search-zip"}, short: "z", valued: "ABCEMTdefgjmrt"},
	"sed":  {long: []string{"in-place", "file"}, short: "if", valued: "el"},
	"sort": {long: []string{"output", "compress-program"}, short: "o", valued: "ktST"},
	"tar": {long: []string{"to-command", "use-compress-program", "checkpoint-action", "rmt-command", "rsh-command",
		"info-script", "new-volume-script"}, short: "IF", valued: "fbCTXHVLNKg"},
	"man":     {long: []string{"html", "pager", "preprocessor"}, short: "HP", valued: "CLMSeEmprRsT"},
	"go":      {single: true, long: []string{"exec", "toolexec", "vettool"}},
	"printf":  {short: "v"},
	"test":    {short: "v"},
	"[":       {short: "v"},
	"base64":  {long: []string{"output"}, short: "o", valued: "wib"},
	"openssl": {single: true, long: []string{"out", "writerand", "engine", "provider"}},
	"curl": {long: []string{"output", "output-dir", "remote-name", "remote-name-all", "remote-header-name", "config",
		"upload-file", "cookie-jar", "dump-header", "trace", "trace-ascii", "stderr", "libcurl", "etag-save", "hsts",
		"alt-svc"}, short: "oOKTcDJ", valued: "AbCdeEFhHmPQrtuUwxXyYz"},
	"wget": {long: []string{"output-document", "output-file", "append-output", "directory-prefix", "execute",
		"use-askpass", "save-cookies", "config"}, short: "OoaPe", valued: "iBtTwQUDARlIX"},
	"rsync":     {long: []string{"rsh", "rsync-path", "log-file"}, short: "e", valued: "fTBM"},
	"scp":       {short: "SoF", valued: "ciJlPXD"},
	"zip":       {long: []string{"unzip-command", "test"}, short: "T", valued: "bntPsi"},
	"split":     {long: []string{"filter"}, valued: "abCln"},
	"bat":       {long: []string{"pager"}},
	"fd":        {long: []string{"exec", "exec-batch"}, short: "xX", valued: "dcEjSC"},
	"mapfile":   {short: "C", valued: "dnOsuc"},
	"readarray": {short: "C", valued: "dnOsuc"},
	"compgen":   {short: "CWF", valued: "oAGPSX"},
	"complete":  {short: "CWF", valued: "oAGPSX"},
	"bind":      {short: "xf", valued: "mqur"},
	"tree":      {short: "o", valued: "LPI"},
	"yq":        {long: []string{"inplace"}, short: "i"},
	"less":      {long: []string{"log-file", "LOG-FILE"}, short: "oOkT", valued: "bDhjpPtxyz"},
}

// sameFlags are other names of a program in the table.
var sameFlags = map[string]string{
	"gsed": "sed", "gtar": "tar", "bsdtar": "tar", "gfind": "find", "bfind": "find", "gsort": "sort", "fdfind": "fd",
	"gawk": "awk", "mawk": "awk", "nawk": "awk", "original-awk": "awk", "busybox-awk": "awk", "base32": "base64",
	"basenc": "base64", "gbase64": "base64", "ripgrep": "rg",
}

// gitFlags are the flags of git's subcommands that execute or write.
var gitFlags = flagSet{long: []string{"output", "output-directory", "open-files-in-pager", "upload-pack", "receive-pack", "exec",
	"ext-diff", "extcmd", "template", "config", "index-output", "export-marks", "separate-git-dir"}, short: "O"}

// gitValued are, by subcommand, the letters that swallow the rest of their
// cluster; where none is known, every letter is looked at.
var gitValued = map[string]string{"diff": "SGLU", "log": "SGLU", "show": "SGLU", "diff-tree": "SGLU", "diff-index": "SGLU",
	"diff-files": "SGLU", "reflog": "SGLU", "whatchanged": "SGLU", "stash": "SGLUm", "grep": "eABCmf", "rebase": "sXC",
	"clone": "obj", "difftool": "tSGLU", "push": "o", "pull": "sX", "fetch": "jo"}

// gitOpen are the subcommands for which an unknown word could be such a flag.
var gitOpen = []string{"diff", "log", "show", "grep", "fetch", "pull", "push", "clone", "ls-remote", "format-patch",
	"archive", "rebase", "difftool", "diff-tree", "diff-index", "diff-files", "reflog", "whatchanged", "shortlog",
	"range-diff", "fetch-pack", "send-pack", "stash"}

// gitRunners are the subcommands that run what follows.
var gitRunners = map[string]bool{"bisect": true, "submodule": true, "filter-branch": true, "difftool": true, "mergetool": true}

// gitAlways are subcommands no wildcard covers.
var gitAlways = set("shell daemon instaweb web--browse send-email cvsserver filter-branch credential upload-archive hook fast-import")

// gitRemotes are the subcommands that take the address of a repository.
var gitRemotes = set("clone fetch pull push ls-remote remote submodule archive fetch-pack send-pack subtree")

var (
	remoteHelper  = regexp.MustCompile(`^[A-Za-z0-9+.-]+::|://-`)
	gitConfigRuns = regexp.MustCompile(`(?i)^(--file|-f$|--global$|--system$|alias\.|pager\.|include|core\.(pager|editor|sshcommand|fsmonitor|hookspath|askpass|gitproxy|alternaterefscommand)|sequence\.editor|diff\.external|gpg\.|url\.|protocol\.|.*\.(textconv|command|helper|cmd|driver|clean|smudge|process|program|path|receivepack|uploadpack|vcs)$)`)
)

// nameBuiltins evaluate a subscript in the variable names they are given.
var nameBuiltins = map[string]bool{
	"read": true, "unset": true, "mapfile": true, "readarray": true, "getopts": true, "wait": true, "export": true,
	"declare": true, "typeset": true, "local": true, "readonly": true, "let": true, "printf": true, "test": true, "[": true,
}

// hazardOf says why a wildcard rule does not cover the command, "" when it
// does.
func hazardOf(c command) string {
	name := c.name()
	if other, ok := sameFlags[name]; ok {
		name = other
	}
	for _, w := range c.words[1:] {
		if nameBuiltins[name] && strings.ContainsAny(w.text, "[") && strings.ContainsAny(w.text, "$`") {
			return name + " evaluates the subscript it is given"
		}
	}
	switch name {
	case "awk":
		return "an awk program can run commands and write files"
	case "xargs":
		return "xargs runs a command on input that is not known yet"
	case "git":
		return gitHazard(c)
	case "sed":
		if reason := sedHazard(c); reason != "" {
			return reason
		}
	case "tar":
		if len(c.words) > 1 && !strings.HasPrefix(c.words[1].text, "-") && strings.ContainsAny(c.words[1].text, "IF") {
			return "tar runs a program with this flag"
		}
	case "printf", "test", "[":
		return builtinHazard(name, c)
	}
	flags, ok := hazardFlags[name]
	if !ok {
		return ""
	}
	return flags.find(name, c.words[1:], flags.single)
}

func builtinHazard(name string, c command) string {
	args := c.words[1:]
	if name == "printf" && len(args) > 0 && (strings.HasPrefix(args[0].text, "-v") || args[0].open) {
		return "printf -v sets a variable whose subscript it evaluates"
	}
	if name != "printf" {
		for _, w := range args {
			if w.text == "-v" || w.text == "-R" || w.open && len(args) < 4 {
				return "test -v evaluates the subscript of its argument"
			}
		}
	}
	return ""
}

// find looks for one of the flags, or for a word that could become one. anyway
// keeps looking after --.
func (f flagSet) find(program string, words []word, anyway bool) string {
	for _, w := range words {
		if w.text == "--" && !anyway {
			return ""
		}
		if w.open {
			return "a word of this " + program + " command is only known at run time and could be a flag that executes or writes"
		}
		if f.has(w.text) {
			return program + " executes or writes with the flag " + w.text
		}
	}
	return ""
}

func (f flagSet) has(arg string) bool {
	if len(arg) < 2 || arg[0] != '-' {
		return false
	}
	name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
	name = strings.TrimRight(name, string(opaqueMark))
	if f.single {
		return slices.Contains(f.long, name)
	}
	if strings.HasPrefix(arg, "--") {
		return name != "" && slices.ContainsFunc(f.long, func(l string) bool { return strings.HasPrefix(l, name) })
	}
	for _, r := range arg[1:] {
		if strings.ContainsRune(f.short, r) {
			return true
		}
		if strings.ContainsRune(f.valued, r) {
			return false
		}
	}
	return false
}

// gitGlobals are git's options before the subcommand; true: takes a value as
// the next word.
var gitGlobals = map[string]bool{
	"-c": true, "-C": true, "--git-dir": true, "--work-tree": true, "--namespace": true, "--super-prefix": true,
	"--config-env": true, "--exec-path": false, "--attr-source": true, "--list-cmds": false,
	"--shallow-file": true,
}

var gitHarmless = map[string]bool{"--no-pager": true, "-P": true, "--no-optional-locks": true, "--literal-pathspecs": true}

// gitWords skips the global options. harmless tells whether only harmless ones
// were there.
func gitWords(c command) (rest command, skipped int, harmless bool) {
	harmless = true
	i := 1
	for i < len(c.words) && strings.HasPrefix(c.words[i].text, "-") {
		text := c.words[i].text
		harmless = harmless && gitHarmless[text]
		i++
		if gitGlobals[text] && i < len(c.words) {
			i++
		}
	}
	words := append([]word{c.words[0]}, c.words[i:]...)
	return command{assigns: c.assigns, words: words}, i - 1, harmless
}

func gitHazard(c command) string {
	rest, _, harmless := gitWords(c)
	if !harmless {
		return "git's options before the subcommand change what it runs or where"
	}
	if len(rest.words) < 2 {
		return ""
	}
	sub := rest.words[1].text
	args := rest.words[2:]
	if gitAlways[sub] {
		return "git " + sub + " can run any program"
	}
	for _, w := range args {
		if gitRemotes[sub] && remoteHelper.MatchString(w.text) {
			return "git runs a helper program for this address"
		}
		if sub == "config" && gitConfigRuns.MatchString(w.text) {
			return "this git setting names a program that git runs"
		}
	}
	if gitRunners[sub] && len(args) > 0 && slices.ContainsFunc(args, func(w word) bool { return w.text == "run" || w.text == "foreach" || strings.HasPrefix(w.text, "-") }) {
		return "git " + sub + " runs the commands it is given"
	}
	extra := gitFlags
	extra.valued = gitValued[sub]
	switch sub {
	case "rebase":
		extra.short += "x"
	case "clone":
		extra.short += "uc"
	case "archive", "format-patch":
		extra.short += "o"
	case "bundle":
		if len(args) > 0 && args[0].text == "create" {
			return "git bundle create writes a file"
		}
	case "checkout-index":
		extra.long = append(slices.Clone(extra.long), "prefix")
	case "difftool":
		extra.short += "x"
	case "commit", "add", "checkout", "switch", "merge", "tag", "config":
		extra = flagSet{long: []string{"exec"}}
	}
	if !slices.Contains(gitOpen, sub) {
		args = slices.DeleteFunc(slices.Clone(args), func(w word) bool { return w.open })
	}
	return extra.find("git "+sub, args, false)
}
