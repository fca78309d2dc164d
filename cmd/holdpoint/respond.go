package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"holdpoint/api"
	"holdpoint/interaction"
)

// answerFlags are respond's.
type answerFlags struct {
	args, reason, feedback, text, note, id, body, run string
	secretFrom                                        string
	until, always                                     string
	selected, to, patterns, as                        []string
	uses                                              int
	yes, no, json                                     bool
}

const respondLong = `Answers interactions. ID is what the inbox shows, or any unambiguous part of its beginning.
ACTION is one of those it offers (approve, modify_args, reject, retry, answer, provide_info, skip, terminate; redact and withhold for an output) or an option's id;
it may be left out where --text, --select, --yes or --no is the answer. pause holds it, so that its clocks stand,
resume lets it go on, and delegate --to asks others instead.

"Always allow" is approve --always session, or user: the approval is kept as a rule for later calls, the one that the
inbox suggests, or --pattern; reject --always keeps a refusal. "inbox ID" says how far the policy lets an approval be kept.

Where a question names its reviewers, answer with the token of one, or, with one that may act for others, --as NAME.

Several IDs, or --run RUN for all that waits in a run, are answered by one ACTION: approve, reject, retry, skip or
terminate. What is marked dangerous is not approved so: it is left out, and said to be. With --run at a terminal,
each is shown first and you are asked.

A secret that is asked for is typed unseen, or read from --secret-from FILE or what is piped in; it is never an argument.

The answer is bound to what was asked when it was sent. Repeating a command with the same --id is harmless.`

func respondCommand(c *cli) *cobra.Command {
	var r remote
	var f answerFlags
	cmd := &cobra.Command{
		Use: "respond ID… [ACTION]", Short: "Answer what waits", Long: respondLong,
		ValidArgsFunction: c.completing(&r, replies),
		RunE: func(cmd *cobra.Command, args []string) error {
			ids, action, err := f.split(args)
			if err != nil {
				return err
			}
			if err := f.named(); err != nil {
				return err
			}
			resp, err := f.response(c, action)
			if err != nil {
				return err
			}
			cl, err := c.connect(&r)
			if err != nil {
				return err
			}
			if f.run != "" || len(ids) > 1 {
				return c.respondMany(cmd.Context(), cl, &r, ids, action, f, resp)
			}
			return c.respond(cmd.Context(), cl, &r, ids[0], action, f, resp)
		},
	}
	r.flags(c, cmd)
	f.flags(cmd)
	complete(cmd, "run", c.completing(&r, liveRunIDs))
	complete(cmd, "always", choicesOf("session", "user"))
	return cmd
}

func (f *answerFlags) flags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.run, "run", "", "all that waits in this run, instead of IDs")
	fs.StringVar(&f.args, "args", "", "with modify_args: the arguments to run with, JSON, @FILE, or - for stdin")
	fs.StringVar(&f.reason, "reason", "", "why, for the agent")
	fs.StringVar(&f.feedback, "feedback", "", "what to do differently, for the agent")
	fs.StringVar(&f.text, "text", "", "the answer, in words")
	fs.StringVar(&f.secretFrom, "secret-from", "", "read the secret that is asked for from this file, or from stdin (-); without it you type it, unseen")
	fs.StringArrayVar(&f.selected, "select", nil, "a choice's id; may be repeated")
	fs.BoolVar(&f.yes, "yes", false, "confirm")
	fs.BoolVar(&f.no, "no", false, "do not confirm")
	fs.StringSliceVar(&f.to, "to", nil, "with delegate: who is asked instead, people or group:NAME")
	fs.StringVar(&f.always, "always", "", "with approve or reject: keep the answer for the session or the user, as a rule")
	fs.StringArrayVar(&f.patterns, "pattern", nil, "with --always: a rule such as 'bash(go test:*)', instead of those suggested; may be repeated")
	countVar(cmd, &f.uses, "uses", "with --always: how many later calls it may allow (default any number)")
	endVar(cmd, &f.until, "until", "with delegate and --always: until when, a time such as 2026-05-01T12:00:00Z or a length such as 4h or 7d")
	fs.StringVar(&f.note, "note", "", "a note for the record; the agent does not see it")
	fs.StringVar(&f.id, "id", "", "id of this response: the same id is applied once")
	fs.StringVar(&f.body, "body", "", "the whole response, for combined and custom questions: JSON, @FILE, or -")
	fs.StringSliceVar(&f.as, "as", nil, "answer as this person, with their groups if the question needs them (alice,group:release); needs a token that may act for others")
	fs.BoolVar(&f.json, "json", false, "print JSON")
	cmd.MarkFlagsMutuallyExclusive("reason", "feedback")
	cmd.MarkFlagsMutuallyExclusive("yes", "no")
}

// split tells the ids from the action, which comes last.
func (f *answerFlags) split(args []string) (ids []string, action string, err error) {
	one := f.text+f.args+f.body+f.id+f.always+f.secretFrom != "" || len(f.to) > 0 || len(f.selected) > 0 || f.yes || f.no
	switch {
	case f.run != "" && len(args) != 1:
		return nil, "", usage("with --run, give an ACTION and no ID: %d words are too many or too few", len(args))
	case f.run != "":
		action = args[0]
	case len(args) == 0:
		return nil, "", usage("say which: respond ID ACTION; the inbox lists what waits")
	case len(args) == 1:
		return args, "", nil
	default:
		ids, action = args[:len(args)-1], args[len(args)-1]
	}
	if one && (f.run != "" || len(ids) > 1) {
		return nil, "", usage("--args, --text, --select, --yes, --no, --to, --always, --body and --id are for one interaction: answer it alone")
	}
	return ids, action, nil
}

// response makes the response that the flags say.
func (f *answerFlags) response(c *cli, action string) (interaction.Response, error) {
	if action == "" && f.text == "" && f.secretFrom == "" && len(f.selected) == 0 && !f.yes && !f.no && f.body == "" {
		return interaction.Response{}, usage("say what to do: an ACTION such as approve or reject, or an answer by --text, --select, --yes or --no")
	}
	var resp interaction.Response
	if f.body != "" {
		data, err := c.argument("--body", f.body)
		if err != nil {
			return resp, err
		}
		if resp, err = interaction.DecodeResponse(data); err != nil {
			return resp, usage("--body: %v", f.placed(f.body, data, err))
		}
	}
	if f.args != "" {
		data, err := c.argument("--args", f.args)
		if err != nil {
			return resp, err
		}
		if resp.Args, err = object(data); err != nil {
			return resp, usage("--args: %v", f.placed(f.args, data, err))
		}
	}
	f.words(&resp)
	return resp, f.lasting(&resp, c.now())
}

func (f *answerFlags) words(resp *interaction.Response) {
	set := func(p *string, v string) {
		if v != "" {
			*p = v
		}
	}
	set(&resp.Feedback, f.reason+f.feedback)
	set(&resp.Text, f.text)
	set(&resp.Note, f.note)
	if who := f.reviewer(); who.ID != "" {
		resp.Reviewer = who
	}
	if f.id != "" {
		resp.ID = interaction.ResponseID(f.id)
	}
	if len(f.selected) > 0 {
		resp.Selected = f.selected
	}
	if f.yes || f.no {
		resp.Confirmed = &f.yes
	}
}

// object checks arguments before they are sent; the bridge checks them against the tool's schema.
func object(data []byte) (json.RawMessage, error) {
	var fields map[string]json.RawMessage
	if err := interaction.Strict(data, &fields); err != nil {
		return nil, err
	}
	return data, nil
}

// placed says where in a file a mistake is, if a flag's value names one.
func (f *answerFlags) placed(value string, data []byte, err error) error {
	if name, ok := strings.CutPrefix(value, "@"); ok {
		return placed(name, data, err)
	}
	return err
}

// argument reads a flag's value: the text itself, @FILE, or - for stdin.
func (c *cli) argument(flag, value string) ([]byte, error) {
	var in io.Reader
	switch {
	case value == "-":
		in = c.in
	case strings.HasPrefix(value, "@"):
		f, err := os.Open(value[1:])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", flag, err)
		}
		defer f.Close()
		in = f
	default:
		return []byte(value), nil
	}
	data, err := io.ReadAll(io.LimitReader(in, interaction.MaxResponseBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	if len(data) > interaction.MaxResponseBytes {
		return nil, fmt.Errorf("%s: more than %d bytes, which no answer may have", flag, interaction.MaxResponseBytes)
	}
	return data, nil
}

func (c *cli) respond(ctx context.Context, cl *client, r *remote, ref, action string, f answerFlags, resp interaction.Response) error {
	it, err := cl.find(ctx, ref, true)
	if err != nil {
		return err
	}
	if err := choose(it.Request, action, &resp); err != nil {
		return err
	}
	if err := c.secretAnswer(ctx, it.Request, f, &resp); err != nil {
		return err
	}
	if err := pick(it.Request, action, &resp); err != nil {
		return err
	}
	if err := keepable(it.Request, resp); err != nil {
		return err
	}
	resp.RequestID = it.ID
	if resp.Digest == "" {
		resp.Digest = it.Digest
	}
	out, err := cl.respond(ctx, resp)
	if err != nil {
		return c.explain(err, r, it)
	}
	if f.json {
		return c.printJSON(out)
	}
	said := string(resp.Action)
	if resp.OptionID != "" {
		said = resp.OptionID
	}
	if said == "" {
		said = "answer"
	}
	fmt.Fprintf(c.out, "%s: %s\n%s\n", interaction.Visible(said), interaction.Visible(it.Title), outcomeText(out))
	return nil
}

// choose puts the chosen option or action on a response. A word that is neither is refused here, with what there is.
func choose(q interaction.Request, word string, resp *interaction.Response) error {
	if word == "" {
		return nil
	}
	for _, o := range q.Options {
		if o.ID == word {
			resp.OptionID, resp.Action = o.ID, o.Action
			if q.Type == interaction.TypeSelect && len(resp.Selected) > 0 {
				resp.OptionID = ""
			}
			return nil
		}
	}
	if a := interaction.Action(word); a.Valid() {
		resp.Action = a // whether it is offered is the bridge's to say
		return nil
	}
	return usage("%q is not offered here: use one of %s", word, strings.Join(optionWords(q), ", "))
}

func optionWords(q interaction.Request) []string {
	var words []string
	for _, o := range q.Options {
		if w := optionWord(q, o); !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return words
}

func outcomeText(a api.Answered) string {
	switch {
	case a.Status == api.StatusStored:
		return "Stored: no worker has taken it yet; it is applied as soon as one runs."
	case a.Quorum > 1 && a.Approvals < a.Quorum:
		return fmt.Sprintf("Counted: %d of %d approvals.", a.Approvals, a.Quorum)
	default:
		return "Applied."
	}
}

// explain adds to a refusal what to do about it.
func (c *cli) explain(err error, r *remote, it api.Interaction) error {
	switch code(err) {
	case api.CodeAlreadyDecided, api.CodeExpired, api.CodeRunEnded:
		return fmt.Errorf("%w: nothing was changed; %s inbox%s lists what still waits", err, c.name, r.typed())
	case api.CodeNotEntitled:
		return fmt.Errorf("%w%s", err, entitling(err))
	case api.CodeInvalid, api.CodeInvalidArgs, api.CodeDigestMismatch:
		return fmt.Errorf("%w: it still waits; %s inbox%s %s shows it with the lines that answer it", err, c.name, r.typed(), shortID(it.ID))
	}
	var refused *refusedError
	if !errors.As(err, &refused) {
		return fmt.Errorf("%w: it is not known whether the answer arrived; look with %s inbox%s %s", err, c.name, r.typed(), shortID(it.ID))
	}
	return err
}
