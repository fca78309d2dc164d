package main

import (
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"holdpoint/interaction"
)

// completeTimeout is how long the shell may be kept waiting. Without an answer nothing is offered, and nothing said.
const completeTimeout = time.Second

// completion is a cobra completion function.
type completion = func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective)

// source lists what may stand at a place of the command line, given what stands before it.
type source func(ctx context.Context, cl *client, args []string) []string

// complete completes a flag's value.
func complete(cmd *cobra.Command, flag string, fn completion) {
	if err := cmd.RegisterFlagCompletionFunc(flag, fn); err != nil {
		panic(err) // the flag is not there: a mistake in this program, found by every test
	}
}

// nothing offers nothing, files neither.
func nothing(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// choicesOf offers fixed words.
func choicesOf(list ...string) completion {
	return func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// completing offers what a source lists at the bridge that the flags name.
func (c *cli) completing(r *remote, from source) completion {
	return func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		cl, err := c.connect(r)
		if err != nil {
			return nothing(cmd, args, typed)
		}
		cl.quick = true
		ctx, cancel := context.WithTimeout(cmd.Context(), completeTimeout)
		defer cancel()
		list := slices.DeleteFunc(from(ctx, cl, args), func(s string) bool {
			word, _, _ := strings.Cut(s, "\t")
			return !strings.HasPrefix(word, typed) || !plainWord.MatchString(word)
		})
		return list, cobra.ShellCompDirectiveNoFileComp
	}
}

// plainWord is what may be offered to a shell: nothing that it would read as more than a word.
var plainWord = regexp.MustCompile(`^[A-Za-z0-9._:@/+=-]+$`)

// offer is a word with a remark for shells that show one. Some shells evaluate what they are given, so the remark
// has letters, digits and the plainest punctuation only.
func offer(word string, remark ...string) string {
	text := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(" .,:/_-+", r) {
			return r
		}
		return ' '
	}, strings.Join(remark, " "))
	text = strings.Join(strings.Fields(interaction.Visible(text)), " ")
	if text == "" {
		return word
	}
	return word + "\t" + text
}

// words lists fixed words.
func words(list ...string) source {
	return func(context.Context, *client, []string) []string { return list }
}

// onlyFirst lists for the first argument alone.
func onlyFirst(from source) source { return firstThen(from, words()) }

// firstThen lists for the first and for the second argument.
func firstThen(first, second source) source {
	return func(ctx context.Context, cl *client, args []string) []string {
		switch len(args) {
		case 0:
			return first(ctx, cl, args)
		case 1:
			return second(ctx, cl, args)
		}
		return nil
	}
}

// maxOffers is how many runs are offered.
const maxOffers = 50

func runIDs(ctx context.Context, cl *client, _ []string) []string {
	page, _ := cl.runs(ctx, runsQuery{limit: maxOffers})
	var out []string
	for _, r := range page.Items {
		out = append(out, offer(string(r.ID), string(r.Status), r.Agent, summary(r.Input)))
	}
	return out
}

func liveRunIDs(ctx context.Context, cl *client, _ []string) []string {
	page, _ := cl.runs(ctx, runsQuery{limit: maxOffers})
	var out []string
	for _, r := range live(page.Items) {
		out = append(out, offer(string(r.ID), string(r.Status), r.Agent, summary(r.Input)))
	}
	return out
}

func sessionIDs(ctx context.Context, cl *client, _ []string) []string {
	page, _ := cl.runs(ctx, runsQuery{limit: maxOffers})
	var out []string
	for _, r := range page.Items {
		if s := offer(string(r.SessionID), r.Agent); !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

func agentNames(ctx context.Context, cl *client, _ []string) []string {
	list, _ := cl.agents(ctx)
	var out []string
	for _, a := range list {
		out = append(out, offer(a.Name, a.Description))
	}
	return out
}

// waitingIDs lists what waits and is not among the arguments yet.
func waitingIDs(ctx context.Context, cl *client, args []string) []string {
	list, _, _ := cl.waiting(ctx, "")
	var out []string
	short := shortIDs(list)
	for _, it := range list {
		if !slices.ContainsFunc(args, func(a string) bool { return names(a, it.ID) }) {
			out = append(out, offer(short[it.ID], it.Risk, it.Title))
		}
	}
	return out
}

// replies lists the actions that the first interaction offers, and, for a batch, what else waits.
func replies(ctx context.Context, cl *client, args []string) []string {
	if len(args) == 0 {
		return waitingIDs(ctx, cl, args)
	}
	list, _, _ := cl.waiting(ctx, "")
	fits := matching(args[0], list)
	if len(fits) != 1 || slices.ContainsFunc(args, func(a string) bool { return interaction.Action(a).Valid() }) {
		return nil
	}
	var out []string
	for _, o := range fits[0].Options {
		out = append(out, offer(o.ID, o.Label))
	}
	return append(out, waitingIDs(ctx, cl, args)...)
}

// profileNames lists the profiles of the profile file.
func (c *cli) profileNames(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var out []string
	if path, err := c.profilesPath(); err == nil {
		all, _ := readProfiles(path)
		out = slices.Sorted(maps.Keys(all))
	}
	return slices.DeleteFunc(out, func(s string) bool { return !plainWord.MatchString(s) }), cobra.ShellCompDirectiveNoFileComp
}
