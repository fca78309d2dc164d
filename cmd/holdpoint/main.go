// Command holdpoint runs Holdpoint and talks to it.
//
//	holdpoint dev                 everything on this machine, with a demo
//	holdpoint worker | api        the two halves beside a Temporal cluster
//	holdpoint run AGENT TEXT      start a run and follow it, answering at the terminal
//	holdpoint runs [RUN]          list runs, or show one
//	holdpoint watch RUN           follow a run to its end
//	holdpoint steps RUN           its transcript
//	holdpoint control RUN ACTION  pause, resume or abort it
//	holdpoint message RUN TEXT    say something to it
//	holdpoint inbox [ID]          what waits for a person, or one of it whole
//	holdpoint respond ID… ACTION  answer it
//	holdpoint ask QUESTION        ask people whether a program may go on
//	holdpoint completion SHELL    completion for bash, zsh, fish or powershell
//	holdpoint version
//
// Exit codes: 0 done (a run: completed), 1 error, 2 usage, 3 the run failed, 4 the run was aborted by a person,
// 130 interrupted.
//
// Start at newRoot. What the commands share is cli; the bridge is reached through client.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"holdpoint/interaction"
)

// The exit codes.
const (
	exitOK          = 0
	exitError       = 1
	exitUsage       = 2
	exitFailed      = 3
	exitAborted     = 4
	exitInterrupted = 130
)

// exit ends the process with a code. Without a message nothing more is printed.
type exit struct {
	code    int
	message string
}

func (e *exit) Error() string { return e.message }

// cli is what every command has: the streams, what is known of them, and the time.
type cli struct {
	name   string // as the user typed it, for lines that they may type next
	in     io.Reader
	out    io.Writer
	err    io.Writer
	getenv func(string) (string, bool)
	now    func() time.Time
	style  style
	width  int  // of the terminal; 0 elsewhere: nothing is wrapped
	asks   bool // a person sits at both ends
}

func main() { os.Exit(process(processCLI())) }

// process runs the process's command line, until a signal, and returns the exit code.
func process(c *cli) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return execute(ctx, c, os.Args[1:])
}

func processCLI() *cli {
	c := &cli{name: typedName(os.Args[0]), in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.LookupEnv, now: time.Now}
	outTTY := term.IsTerminal(int(os.Stdout.Fd()))
	c.asks = outTTY && term.IsTerminal(int(os.Stdin.Fd()))
	if outTTY {
		c.style = newStyle(c.getenv)
		if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil {
			c.width = w
		}
	}
	return c
}

// typedName is the program's name in lines to type: a path where it was called by one.
func typedName(arg0 string) string {
	if strings.ContainsRune(arg0, filepath.Separator) && !filepath.IsAbs(arg0) {
		return shellWord(arg0)
	}
	return filepath.Base(arg0)
}

// execute runs one command line and returns the exit code.
func execute(ctx context.Context, c *cli, args []string) int {
	root, begun := newRoot(c)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	var e *exit
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &e):
		if e.message != "" {
			fmt.Fprintln(c.err, "holdpoint: "+interaction.VisibleLines(e.message))
		}
		return e.code
	case ctx.Err() != nil:
		return exitInterrupted
	}
	fmt.Fprintln(c.err, "holdpoint: "+interaction.VisibleLines(err.Error()))
	if !*begun { // the command line itself was not understood
		fmt.Fprintf(c.err, "See `%s --help`.\n", cmd.CommandPath())
		return exitUsage
	}
	return exitError
}

// usage refuses a command line that parses and makes no sense.
func usage(format string, args ...any) error {
	return &exit{code: exitUsage, message: fmt.Sprintf(format, args...)}
}
