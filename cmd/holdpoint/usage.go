package main

import (
	"encoding/csv"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"holdpoint/interaction"
)

// understood has every command of the tree say in the same words what is wrong with its arguments, and how they go.
func understood(cmd *cobra.Command) {
	cmd.SuggestionsMinimumDistance = 2
	if !cmd.Runnable() { // cobra shows the help of one that only has commands below, whatever was typed behind it
		cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if takes := cmd.Args; takes != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := takes(cmd, args)
			var worded *exit
			if err == nil || errors.As(err, &worded) {
				return err
			}
			return misused(cmd, takes, args)
		}
	}
	for _, below := range cmd.Commands() {
		understood(below)
	}
}

// misread says of a flag's value what it must be; what Go's parsers say of it is for programmers.
func misread(_ *cobra.Command, err error) error {
	var number *strconv.NumError
	var list *csv.ParseError
	switch {
	case errors.As(err, &list):
		return errors.New(strings.TrimSuffix(err.Error(), list.Error()) + "write texts with commas between them, and in double quotes what has a comma or a quote in it, each such quote twice")
	case !errors.As(err, &number):
		return err
	}
	want := "write a whole number"
	switch {
	case number.Func == "ParseBool":
		want = "write true or false, or the flag alone"
	case errors.Is(number, strconv.ErrRange):
		want = "write a smaller number"
	}
	return errors.New(strings.TrimSuffix(err.Error(), number.Error()) + want)
}

// misused says which argument is too many, or that one is missing.
func misused(cmd *cobra.Command, takes cobra.PositionalArgs, args []string) error {
	if cmd.HasSubCommands() && len(args) > 0 {
		near := ""
		if names := cmd.SuggestionsFor(args[0]); len(names) > 0 {
			near = " (did you mean " + strings.Join(names, ", ") + "?)"
		}
		return errors.New("there is no command " + strconv.Quote(cmd.CommandPath()+" "+args[0]) + near)
	}
	for n := len(args) - 1; n >= 0; n-- {
		if takes(cmd, args[:n]) == nil {
			return errors.New(strconv.Quote(args[n]) + " is one too many: write " + cmd.UseLine())
		}
	}
	return errors.New("something is missing: write " + cmd.UseLine())
}

// span is a flag that takes a length of time, days too.
type span struct{ d *time.Duration }

func (s span) Type() string { return "duration" }

func (s span) String() string {
	if s.d == nil || *s.d == 0 {
		return "0" // which the help does not tell as a default
	}
	return interaction.FormatSpan(*s.d)
}

func (s span) Set(text string) error {
	d, err := interaction.ParseSpan(text)
	if err != nil || d < 0 {
		return errors.New("write a number and a unit, such as 30s, 15m, 72h or 30d")
	}
	*s.d = d
	return nil
}

func spanVar(cmd *cobra.Command, d *time.Duration, name string, without time.Duration, doc string) {
	*d = without
	cmd.Flags().Var(span{d}, name, doc)
}

// count is a flag that takes a number from 1. What 0 would mean is said by leaving it out: a count that has come down to
// nothing must not turn into "any number".
type count struct{ n *int }

func (c count) Type() string { return "int" }

func (c count) String() string {
	if c.n == nil {
		return "0"
	}
	return strconv.Itoa(*c.n)
}

func (c count) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return errors.New("write a whole number from 1, or leave it out")
	}
	*c.n = n
	return nil
}

// said is a flag whose text must not be empty where it is given: --until "$END" with no END must not turn into "for ever".
type said struct{ text *string }

func (s said) Type() string { return "string" }

func (s said) String() string {
	if s.text == nil {
		return ""
	}
	return *s.text
}

func (s said) Set(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("it is empty: write one, or leave the flag out")
	}
	if t, err := time.Parse(time.RFC3339, text); err == nil && t.IsZero() {
		return errors.New("it is the time that programs write for none: write one to come, or leave the flag out")
	}
	*s.text = text
	return nil
}

// endVar is a flag that says when something ends; without it, it has no end.
func endVar(cmd *cobra.Command, text *string, name, doc string) {
	cmd.Flags().Var(said{text}, name, doc)
}

func countVar(cmd *cobra.Command, n *int, name, doc string) {
	cmd.Flags().Var(count{n}, name, doc)
}
