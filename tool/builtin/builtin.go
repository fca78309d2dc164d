// Package builtin has the tools that every agent can be given: bash, file_read, file_write, file_edit, http_fetch
// and ask_human.
//
// Whether a call may run is decided before Run is entered, so no tool here asks for permission. Each is careful
// all the same: arguments are decoded strictly, files are reached through os.Root, private networks only where a
// rule names them, everything has a bound, and what a command started ends with the command, or with the worker,
// however that one ends (see supervisor).
//
// Start at All. Command is how bash runs, place how a path becomes a file, guard what a request may connect to.
package builtin

import (
	"slices"
	"time"

	"holdpoint/tool"
)

// The names of the tools.
const (
	NameBash      = "bash"
	NameFileRead  = "file_read"
	NameFileWrite = "file_write"
	NameFileEdit  = "file_edit"
	NameHTTPFetch = "http_fetch"
	NameAskHuman  = "ask_human"
)

// Config is what the tools can be told. The zero value is ready to use.
type Config struct {
	// Env adds to the environment of commands: "NAME" passes the worker's own variable on, "NAME=value" sets
	// one. Names that change how bash reads a script (BASH_ENV, SHELLOPTS, …) are ignored. Defaults to none.
	Env []string
	// Needs are variables that a person is asked for when a command names one that it would not get. Defaults to none.
	Needs []Need
	// MaxOutput bounds the content of a result in bytes. Defaults to tool.MaxContentBytes, which is also the
	// most; at least 4 KiB.
	MaxOutput int
	// Timeout is how long one command, or one request with its redirects, may take. Defaults to 2 minutes; at most
	// 24 hours.
	Timeout time.Duration
	// Shell is the absolute path of bash. Defaults to the bash found on the worker's PATH when a command runs.
	Shell string
	// Home is what "~/" stands for in a path, absolute. Defaults to the worker's home directory.
	Home string
	// PrivateHosts are the names of hosts that http_fetch may reach although they have private addresses:
	// "wiki.corp.example", neither addresses nor patterns. The rules must allow the URL all the same. Never
	// link-local addresses, where clouds keep credentials. Defaults to none.
	PrivateHosts []string
	// Proxy is the http or https URL of a proxy that http_fetch uses for every request. The proxy then resolves
	// names, so that it is also what must keep requests out of private networks. Defaults to none; the
	// environment's is never used.
	Proxy string
}

const (
	defaultTimeout = 2 * time.Minute
	maxTimeout     = 24 * time.Hour
	minOutput      = 4 << 10
	// fileTimeout bounds the tools that only touch files.
	fileTimeout = time.Minute
)

func (c Config) withDefaults() Config {
	if c.Timeout <= 0 {
		c.Timeout = defaultTimeout
	}
	c.Timeout = min(c.Timeout, maxTimeout)
	if c.MaxOutput <= 0 {
		c.MaxOutput = tool.MaxContentBytes
	}
	c.MaxOutput = min(max(c.MaxOutput, minOutput), tool.MaxContentBytes)
	c.Env = slices.Clone(c.Env)
	return c
}

// All returns the tools, always in the same order.
func All(cfg Config) []tool.Tool {
	cfg = cfg.withDefaults()
	return []tool.Tool{newBash(cfg), newRead(cfg), newWrite(cfg), newEdit(cfg), newFetch(cfg), newAsk()}
}

// New returns the tool of that exact name, and whether there is one.
func New(name string, cfg Config) (tool.Tool, bool) {
	for _, t := range All(cfg) {
		if t.Definition().Name == name {
			return t, true
		}
	}
	return nil, false
}
