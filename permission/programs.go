package permission

import (
	"slices"
	"strings"
)

// programs are the option tables of the programs whose options are known.
var programs = func() map[string]*options {
	out := map[string]*options{}
	for _, family := range []map[string]usage{textPrograms, filePrograms, netPrograms, buildPrograms, toolPrograms} {
		for name, u := range family {
			out[name] = newOptions(u)
		}
	}
	return out
}()

// gitTables are the option tables of git's subcommands.
var gitTables = func() map[string]*options {
	out := map[string]*options{}
	for name, u := range gitPrograms {
		out[name] = newOptions(u)
	}
	return out
}()

// valueChecks look at operands and values that say more than their option.
var valueChecks = map[string]func(reading, command) string{
	"curl": curlCheck, "ssh": sshCheck, "scp": sshCheck, "sftp": sshCheck, "tar": tarCheck, "make": makeCheck, "less": plusCheck, "more": plusCheck, "vim": plusCheck,
}

// plusCheck finds the commands that pagers and editors take after a plus.
func plusCheck(r reading, c command) string {
	for _, o := range r.operands {
		if strings.HasPrefix(o.text, "+") && strings.Trim(o.text, "+0123456789gGF") != "" {
			return c.name() + " runs the command after the plus"
		}
	}
	return ""
}

// sameProgram are other names of a program in the tables.
var sameProgram = map[string]string{
	"gsed": "sed", "gtar": "tar", "bsdtar": "tar", "gfind": "find", "bfind": "find", "gsort": "sort", "fdfind": "fd", "gawk": "awk",
	"mawk": "awk", "nawk": "awk", "original-awk": "awk", "base32": "base64", "basenc": "base64", "gbase64": "base64", "ripgrep": "rg",
	"egrep": "grep", "fgrep": "grep", "zgrep": "grep", "ggrep": "grep", "ugrep": "grep", "gmake": "make", "pnpm": "npm", "yarn": "npm",
	"nodejs": "node", "deno": "node", "bun": "node", "python3": "python", "python2": "python", "pypy": "python", "pypy3": "python",
	"vi": "vim", "nvim": "vim", "view": "vim", "gvim": "vim", "rview": "vim", "rvim": "vim", "vimdiff": "vim", "zless": "less", "zmore": "more",
	"batcat": "bat", "gcp": "cp", "gmv": "mv", "ginstall": "install", "gdate": "date", "ghead": "head", "gtail": "tail", "pigz": "gzip",
	"bzip2": "gzip", "xz": "gzip", "gzcat": "gzip", "zcat": "gzip", "gpg2": "gpg", "podman": "docker", "nerdctl": "docker", "colordiff": "diff",
	"sdiff": "diff", "luajit": "lua", "rscript": "lua", "autossh": "ssh", "ncat": "nc", "netcat": "nc", "g++": "gcc", "cc": "gcc", "c++": "gcc", "clang": "gcc", "clang++": "gcc", "apt-get": "apt", "aptitude": "apt", "apt-cache": "apt", "mariadb": "mysql", "sqlite": "sqlite3", "oc": "kubectl", "bunx": "npx", "pnpx": "npx", "gsplit": "split", "wget2": "wget",
}

// tableName is the name under which a program stands in the tables. A version
// at its end does not matter.
func tableName(name string) string {
	if _, ok := programs[name]; ok {
		return name
	}
	if other, ok := sameProgram[name]; ok {
		return other
	}
	short := strings.TrimRight(name, "0123456789.-")
	if other, ok := sameProgram[short]; ok {
		return other
	}
	if _, ok := programs[short]; ok && short != "" {
		return short
	}
	return name
}

// heavy reports whether some option of the table executes, writes or sends.
func (o *options) heavy() bool { return o.runs+o.loads+o.writes+o.sends != "" }

// hazard says why a wildcard does not cover what was read, "" when it does.
func (o *options) hazard(program string, r reading) string {
	for _, opt := range r.opts {
		switch opt.use {
		case useRuns, useLoads:
			return program + " executes what it is told with the option " + shown(opt.text)
		case useSends:
			return program + " sends away the file it is given with the option " + shown(opt.text)
		case useWrites:
			if !o.free(opt) {
				return program + " writes with the option " + shown(opt.text)
			}
		case useUnknown:
			if o.strict {
				return program + " has an option here that is not known, " + shown(opt.text)
			}
		case useNothing, useReads, useMoves:
		}
	}
	if r.open && o.heavy() {
		return "a word of this " + program + " command is only known at run time and could be an option that executes or writes"
	}
	return ""
}

// free reports whether the file an option writes is nobody's, or one that the
// program may write.
func (o *options) free(opt option) bool {
	v := opt.value
	switch {
	case !opt.given || !v.sure() || v.text == "":
		return false
	case v.text == "/dev/null":
		return true
	default:
		return o.inside && !strings.ContainsAny(v.text[:1], "/~-") && !slices.ContainsFunc(strings.Split(v.text, "/"), func(s string) bool {
			return s != "." && strings.HasPrefix(s, ".") // above, or what tools keep their settings in
		})
	}
}
