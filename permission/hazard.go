package permission

import (
	"regexp"
	"slices"
	"strings"
)

// gitAlways are subcommands no wildcard covers.
var gitAlways = set(`shell daemon instaweb web--browse send-email cvsserver filter-branch credential upload-archive upload-pack receive-pack
	hook fast-import remote-ext remote-fd p4 quiltimport archimport imap-send cvsimport cvsexportcommit http-backend gui citool`)

// gitStrategies are the ways of merging that git brings along; another name is
// a program.
var gitStrategies = set("ours octopus recursive resolve subtree ort")

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
	name := tableName(c.name())
	if nameBuiltins[name] && namesSubscript(name, c.words) {
		return name + " evaluates the subscript it is given"
	}
	switch name {
	case "awk":
		if len(c.words) == 2 && (c.words[1].text == "--version" || c.words[1].text == "--help") {
			return ""
		}
		return "an awk program can run commands and write files"
	case "xargs":
		return "xargs runs a command on input that is not known yet"
	case "git":
		return gitHazard(c)
	case "go":
		sub, table, args := goOptions(c)
		return goHazard(sub, table.read(args), c)
	case "printf", "test", "[":
		return builtinHazard(name, c)
	}
	if setters[name] && name != "unset" && setsVariable(c) {
		return name + " sets a variable that other programs may go by"
	}
	if assigners[name] && slices.ContainsFunc(c.words[1:], guidesPrograms) {
		return name + " sets a variable by which programs are found, or told what to run"
	}
	table, ok := programs[name]
	if !ok {
		if check, ok := toolChecks[name]; ok {
			return check(reading{}, c)
		}
		return ""
	}
	r := table.read(c.words[1:])
	if reason := table.hazard(name, r); reason != "" {
		return reason
	}
	if name == "sed" && sedHazard(r) {
		return "this sed script may execute commands or touch files (the e, w and r commands and flags)"
	}
	if check, ok := valueChecks[name]; ok {
		return check(r, c)
	}
	if check, ok := toolChecks[name]; ok {
		return check(r, c)
	}
	return ""
}

// namesSubscript reports whether a word that names a variable has, or could
// have, a subscript that runs something.
func namesSubscript(name string, words []word) bool {
	for i, w := range words[1:] {
		variable, _, _ := strings.Cut(w.text, "=")
		switch {
		case strings.Contains(w.text, "[") && strings.ContainsAny(w.text, "$`"):
			return true
		case assigners[name] && strings.Contains(w.text, "(") && strings.ContainsAny(w.text, "$`"):
			return true // of an array, what is quoted is read once more
		case name == "printf" || name == "test" || name == "[" || valueFollows.MatchString(words[i].text):
		case strings.ContainsRune(variable, opaqueMark):
			return true
		}
	}
	return false
}

// valueFollows is an option of read and mapfile that takes the next word.
var valueFollows = regexp.MustCompile(`^-[a-zA-Z]*[pdtnNiuOcs]$`)

func builtinHazard(name string, c command) string {
	args := c.words[1:]
	if name == "printf" && len(args) > 0 && (strings.HasPrefix(args[0].text, "-v") || args[0].open) {
		return "printf -v sets a variable whose subscript it evaluates"
	}
	if name != "printf" {
		for i, w := range args {
			named := w.text == "-v" || w.text == "-R" || w.split
			maybe := w.open && i+1 < len(args) && (!args[i+1].sure() || strings.Contains(args[i+1].text, "["))
			if named || maybe {
				return "test -v evaluates the subscript of its argument"
			}
		}
	}
	return ""
}

// gitGlobals are git's options before the subcommand. Only the harmless ones
// are listed as such.
var gitGlobals = newOptions(usage{ordered: true, ok: `Pvh --version --help --no-pager --no-optional-locks --literal-pathspecs`, moves: `C:`,
	runs: `c: --git-dir= --work-tree= --namespace= --super-prefix= --config-env= --exec-path? --attr-source= --list-cmds? --shallow-file=`})

// gitWords skips the global options. harmless tells whether only harmless ones
// were there.
func gitWords(c command) (rest command, skipped int, harmless bool) {
	if len(c.words) > 1 && c.words[1].operand() {
		return c, 0, true
	}
	r := gitGlobals.read(c.words[1:])
	harmless = !slices.ContainsFunc(r.opts, func(o option) bool { return o.use != useNothing })
	rest = command{assigns: c.assigns, words: append([]word{c.words[0]}, r.rest...)}
	return rest, len(c.words) - len(rest.words), harmless
}

func gitHazard(c command) string {
	rest, _, harmless := gitWords(c)
	if !harmless {
		return "git's options before the subcommand change what it runs or where"
	}
	if len(rest.words) < 2 {
		return ""
	}
	sub, args := rest.words[1].text, rest.words[2:]
	if !rest.words[1].sure() {
		return "which command of git this is, is only known at run time"
	}
	if gitAlways[sub] {
		return "git " + sub + " can run any program"
	}
	for _, w := range args {
		if gitRemotes[sub] && (remoteHelper.MatchString(w.text) || w.hides()) {
			return "git runs a helper program for this address"
		}
		if sub == "config" && (gitConfigRuns.MatchString(w.text) || w.hides()) {
			return "this git setting names a program that git runs"
		}
	}
	if reason := gitRuns(sub, args); reason != "" {
		return reason
	}
	table, ok := gitTables[sub]
	if !ok {
		return ""
	}
	r := table.read(args)
	r.opts = slices.DeleteFunc(r.opts, func(o option) bool {
		return (o.name == "strategy" || o.name == "s") && gitStrategies[o.value.text]
	})
	return table.hazard("git "+sub, r)
}

// gitRuns finds the subcommands that run or write what their operands say.
func gitRuns(sub string, args []word) string {
	given := func(words ...string) bool {
		return slices.ContainsFunc(args, func(a word) bool { return slices.Contains(words, a.text) })
	}
	switch {
	case sub == "config" && len(args) > 0 && args[0].text == "edit", sub == "notes" && given("edit"):
		return "git " + sub + " edit runs the editor that a setting names"
	case sub == "bisect" && given("run"), sub == "submodule" && given("foreach"):
		return "git " + sub + " runs the commands it is given"
	case sub == "bundle" && given("create"):
		return "git bundle create writes a file"
	case sub == "maintenance" && given("start", "register"):
		return "git maintenance starts programs later, by itself"
	default:
		return ""
	}
}
