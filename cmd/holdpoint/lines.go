package main

import (
	"fmt"
	"io"
	"strings"

	"holdpoint/api"
	"holdpoint/interaction"
)

// maxInlineArgs is up to where present arguments stand in the line that edits them.
const maxInlineArgs = 300

// respondLines writes the command lines that answer an interaction, one per option, each ready to be pasted.
func (c *cli) respondLines(w io.Writer, r *remote, it api.Interaction, ref string) {
	if it.Status.Final() {
		return
	}
	fmt.Fprintln(w, c.style.bold("Answer with one of"))
	head := c.name + " respond" + r.typed() + " " + shellWord(interaction.Visible(ref)) + " "
	for _, o := range answerOptions(it.Request) {
		fmt.Fprintf(w, "  %s%s\n", head, optionLine(it.Request, o))
	}
	if o, ok := keeping(it.Request); ok {
		more := "   (always allowed in this session by the rule above, or by --pattern; --uses N and --until bound it)"
		if it.MaxGrant == interaction.GrantUser {
			more = strings.Replace(more, "session", "session, or with --always user for its user,", 1)
		}
		fmt.Fprintf(w, "  %s%s --always session%s\n", head, interaction.Visible(optionWord(it.Request, o)), more)
	}
	if len(it.Reviewers) > 0 {
		fmt.Fprintf(w, "  With a token that may act for others, add --as NAME,group:THEIRS for whoever answers.\n")
	}
}

// keeping is the option by which a call is approved for good, if it may be.
func keeping(q interaction.Request) (interaction.Option, bool) {
	if q.Kind != interaction.KindPermission || len(q.SuggestedPattern) == 0 || q.MaxGrant != interaction.GrantSession && q.MaxGrant != interaction.GrantUser {
		return interaction.Option{}, false
	}
	for _, o := range q.Options {
		if o.Action == interaction.ActionApprove {
			return o, true
		}
	}
	return interaction.Option{}, false
}

// answerOptions are the options with a line of their own: a select's choices share the first one's.
func answerOptions(q interaction.Request) []interaction.Option {
	var out []interaction.Option
	chosen := false
	for _, o := range q.Options {
		if q.Type == interaction.TypeSelect && o.Action == interaction.ActionAnswer {
			if chosen {
				continue
			}
			chosen = true
		}
		out = append(out, o)
	}
	return out
}

// optionLine is what follows "respond ID".
func optionLine(q interaction.Request, o interaction.Option) string {
	word := interaction.Visible(optionWord(q, o))
	switch o.Action {
	case interaction.ActionModifyArgs:
		return word + " --args " + argsExample(q)
	case interaction.ActionReject:
		return word + " --reason 'why, for the agent'"
	case interaction.ActionRetry:
		return word + " --feedback 'what to do differently'"
	case interaction.ActionAnswer, interaction.ActionProvideInfo:
		if q.Secret {
			return word + "   (you type it unseen; or --secret-from FILE)"
		}
		return word + answerExample(q, o)
	case interaction.ActionRedact:
		return word + " --text 'what the agent gets instead'"
	default:
		if o.RequiresInput {
			return word + " --feedback '…'"
		}
		return word
	}
}

// optionWord is the action, or the option's id where the action alone would not say which.
func optionWord(q interaction.Request, o interaction.Option) string {
	if q.Type == interaction.TypeSelect && o.Action == interaction.ActionAnswer {
		return string(o.Action)
	}
	for _, other := range q.Options {
		if other.Action == o.Action && other.ID != o.ID {
			return shellWord(o.ID)
		}
	}
	if o.ID != "" && q.Kind == interaction.KindOutcomeUnknown { // "approve" would say too little
		return shellWord(o.ID)
	}
	return string(o.Action)
}

func answerExample(q interaction.Request, o interaction.Option) string {
	switch q.Type {
	case interaction.TypeSelect:
		return " --select " + shellWord(interaction.Visible(o.ID))
	case interaction.TypeConfirm:
		return " --yes   (or --no)"
	case interaction.TypeCombined, interaction.TypeCustom:
		return " --body @answer.json"
	default:
		return " --text 'your answer'"
	}
}

// argsExample is the present arguments where they fit and have nothing odd in them, so that the line can be edited.
func argsExample(q interaction.Request) string {
	args := string(q.ToolArgs)
	if args == "" || len(args) > maxInlineArgs || strings.ContainsAny(args, "\n\t") || interaction.Visible(args) != args {
		return "@edited.json"
	}
	return shellWord(args)
}
