package builtin

import (
	"os"
	"strings"
)

// inherited are the variables that a command gets from the worker. Nothing else passes: a worker's
// environment holds keys and tokens.
var inherited = []string{
	"HOME", "USER", "LOGNAME", "LANG", "LANGUAGE", "TMPDIR", "TZ",
	"LC_ALL", "LC_ADDRESS", "LC_COLLATE", "LC_CTYPE", "LC_IDENTIFICATION", "LC_MEASUREMENT", "LC_MESSAGES",
	"LC_MONETARY", "LC_NAME", "LC_NUMERIC", "LC_PAPER", "LC_TELEPHONE", "LC_TIME",
}

const defaultPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// markerVar tells a command's processes from all others, for the case that their supervisor was killed.
const markerVar = "HOLDPOINT_COMMAND"

// environ is the environment of a command: the scrubbed one and the extras, without duplicates.
func environ(extras []string, lookup func(string) (string, bool)) []string {
	values := map[string]string{"PATH": defaultPath, "TERM": "dumb"}
	order := []string{"PATH", "TERM"}
	set := func(name, value string) {
		if _, known := values[name]; !known {
			order = append(order, name)
		}
		values[name] = value
	}
	for _, name := range append([]string{"PATH"}, inherited...) {
		if v, ok := lookup(name); ok {
			set(name, v)
		}
	}
	for _, extra := range extras {
		name, value, given := strings.Cut(extra, "=")
		if changesBash(name) {
			continue
		}
		if !given {
			var ok bool
			if value, ok = lookup(name); !ok {
				continue
			}
		}
		set(name, value)
	}
	out := make([]string, 0, len(order))
	for _, name := range order {
		out = append(out, name+"="+values[name])
	}
	return out
}

// changesBash reports whether a variable could make bash run something else than the script that was judged,
// or read it in another dialect.
func changesBash(name string) bool {
	switch name {
	case "", "BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "BASH_COMPAT", "POSIXLY_CORRECT", "IFS", markerVar:
		return true
	}
	return strings.HasPrefix(name, "BASH_FUNC_") || strings.ContainsAny(name, " \t\n\x00")
}

// workerEnviron is environ over the worker's own variables.
func workerEnviron(extras []string) []string { return environ(extras, os.LookupEnv) }
