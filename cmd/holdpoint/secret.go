package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"holdpoint/interaction"
)

// A secret is never taken from the command line, where the shell's history and every process of the machine could read it.

// secretAnswer puts the secret on a response that gives one: from --secret-from, typed without echo, or from what is piped in.
func (c *cli) secretAnswer(ctx context.Context, q interaction.Request, f answerFlags, resp *interaction.Response) error {
	gives := resp.Action == "" || resp.Action == interaction.ActionProvideInfo || resp.Action == interaction.ActionAnswer
	switch {
	case f.secretFrom != "" && !(q.Secret && gives):
		return usage("--secret-from is for an answer to a question that asks for a secret")
	case !q.HasSecret() || !gives:
		return nil
	case f.text != "" || f.body != "" && f.body != "-" && !strings.HasPrefix(f.body, "@"):
		return usage("a secret does not belong on the command line, where others can read it: leave it out to type it unseen, or give " +
			"--secret-from FILE, or - for stdin (--body @FILE, or -, for several questions)")
	case !q.Secret || f.body != "":
		return nil // of several questions, the body has the answers
	}
	value, err := c.readSecret(ctx, q, f.secretFrom)
	if err != nil {
		return err
	}
	if value = strings.TrimSuffix(strings.TrimSuffix(value, "\n"), "\r"); value == "" {
		return usage("nothing was given, so nothing was sent")
	}
	resp.Text = value
	return nil
}

func (c *cli) readSecret(ctx context.Context, q interaction.Request, from string) (string, error) {
	in, isFile := c.in.(*os.File)
	switch {
	case from != "" && from != "-":
		data, err := c.argument("--secret-from", "@"+from)
		return string(data), err
	case from == "" && isFile && term.IsTerminal(int(in.Fd())):
		return c.typeSecret(ctx, int(in.Fd()), q)
	default:
		data, err := c.argument("--secret-from", "-")
		return string(data), err
	}
}

// typeSecret reads a line that the terminal does not show. It shows nothing from before the prompt is there, and is as it was
// afterwards, also when the person gives up.
func (c *cli) typeSecret(ctx context.Context, fd int, q interaction.Request) (string, error) {
	before, err := term.MakeRaw(fd)
	if err != nil {
		return "", fmt.Errorf("the terminal can't be kept from showing the secret: %w", err)
	}
	defer func() {
		_ = term.Restore(fd, before) // there is nothing else to be done about it
		fmt.Fprintln(c.err)
	}()
	fmt.Fprintf(c.err, "%s (it is not shown as you type): ", interaction.Visible(q.Title))
	type line struct {
		text []byte
		err  error
	}
	read := make(chan line, 1)
	go func() { // it ends with the process if nothing is typed
		text, err := term.ReadPassword(fd)
		read <- line{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case got := <-read:
		if got.err != nil {
			return "", fmt.Errorf("the secret could not be read from the terminal: %w", got.err)
		}
		return string(got.text), nil
	}
}
