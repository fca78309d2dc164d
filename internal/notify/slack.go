package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/slack-go/slack"

	"holdpoint/agent"
	"holdpoint/interaction"
)

// Slack tells a channel, and takes the answers of those whom it knows by their Slack ids.
type Slack struct {
	c      SlackConfig
	client *slack.Client
}

// SlackConfig is what Slack is made of.
type SlackConfig struct {
	Token   string // of the app's bot
	Signing string // the app's signing secret
	Channel string
	API     string // "" is Slack's own
	Inbox   string // the address of the inbox, for links; "" gives none
	// Users are who somebody in Slack is here, by their Slack id.
	Users map[string]interaction.Principal
	// Hider takes secrets out. nil hides nothing.
	Hider Hider
}

// NewSlack makes a Slack notifier.
func NewSlack(c SlackConfig) *Slack {
	if c.Hider == nil {
		c.Hider = none{}
	}
	options := []slack.Option{}
	if c.API != "" {
		options = append(options, slack.OptionAPIURL(strings.TrimSuffix(c.API, "/")+"/"))
	}
	return &Slack{c: c, client: slack.New(c.Token, options...)}
}

// passing are the errors of Slack that another attempt may not meet.
var passing = []string{"ratelimited", "rate_limited", "internal_error", "fatal_error", "service_unavailable", "request_timeout", "team_added_to_org"}

// Notify posts one message.
func (s *Slack) Notify(ctx context.Context, m Message) error {
	if m.Kind == agent.NoticeDecided {
		return &RefusedError{Reason: "Slack is told of questions only"}
	}
	if !m.Begun.IsZero() {
		if there, err := s.posted(ctx, m); there || err != nil {
			return err
		}
	}
	blocks, summary := s.blocks(m)
	_, _, err := s.client.PostMessageContext(ctx, s.c.Channel, slack.MsgOptionText(summary, true), slack.MsgOptionBlocks(blocks...),
		slack.MsgOptionDisableLinkUnfurl(), slack.MsgOptionMetadata(slack.SlackMetadata{EventType: slackEvent, EventPayload: map[string]any{"id": m.ID}}))
	var refused slack.SlackErrorResponse
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && !slices.Contains(passing, refused.Err):
		return &RefusedError{Reason: "Slack refused it: " + refused.Err}
	default:
		return hidden(err)
	}
}

// Bounds of a message: Slack takes 50 blocks with 3,000 characters of text each.
const (
	maxSlackText   = 2900 // bytes, which are no fewer than the characters
	maxSlackBlocks = 40
	shownOfCut     = 6 // blocks of what is too long
)

// blocks are a message's, and its text for notifications.
func (s *Slack) blocks(m Message) (out []slack.Block, summary string) {
	i, req := m.Interaction, m.Interaction.Request
	title, hidden := s.c.Hider.Text(req.Title)
	summary = clip(interaction.Visible(title), interaction.MaxTitleBytes)
	if i.Status.Final() {
		end, _ := s.c.Hider.Text(ended(i))
		return []slack.Block{section(clip(end, maxSlackText))}, summary
	}
	if m.Kind == agent.NoticeReminded {
		summary = "Still waits: " + summary
	}
	args, some := s.c.Hider.JSON(req.ToolArgs)
	hidden = hidden || some
	req.ToolArgs = args
	text, some := s.c.Hider.Text(whole(req))
	hidden = hidden || some
	pieces, cut := split(text)
	out = append(out, section(summary))
	for _, p := range pieces {
		out = append(out, section(p))
	}
	var buttons []slack.BlockElement
	why := ""
	switch {
	case cut:
		why = fmt.Sprintf("This is not all of it (%d bytes in all), so it can't be answered here.", len(text))
	case hidden:
		why = "What looks like secrets is hidden here, so it can't be answered here."
	case req.Kind == interaction.KindResult:
		why = "The output that waits is shown in the inbox only, so it can't be answered here."
	case len(req.Interactions) > 0 || req.HasSecret():
		why = "It can't be answered here."
	default:
		buttons = s.buttons(req)
	}
	if where := link(s.c.Inbox, req.ID); where != "" {
		why = strings.TrimSpace(why + " " + where)
	} else if len(buttons) == 0 {
		why = strings.TrimSpace(why + " Answer it in the inbox: " + string(req.ID))
	}
	if why != "" {
		out = append(out, section(why))
	}
	if len(buttons) > 0 {
		out = append(out, slack.NewActionBlock("holdpoint", buttons...))
	}
	return out, summary
}

// whole is everything that a person must see before they decide.
func whole(req interaction.Request) string {
	var b strings.Builder
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	line("Message", req.Message)
	line("Why it is asked", req.Reason)
	line("Rule", req.MatchedRule)
	line("Risk", req.Risk)
	line("For", string(req.Requester))
	line("Agent", strings.Join(req.AgentPath, " → "))
	line("Asked", strings.Join(req.Reviewers, ", "))
	if req.Quorum > 1 {
		line("Approvals needed", fmt.Sprint(req.Quorum))
	}
	if !req.ExpiresAt.IsZero() {
		line("Until", req.ExpiresAt.UTC().Format(time.RFC3339))
	}
	line("Tool", req.ToolName)
	if len(req.ToolArgs) > 0 {
		line("Arguments", pretty(req.ToolArgs))
	}
	line("Explanation", req.Explanation)
	line("What it would do", req.Details)
	return interaction.VisibleLines(strings.TrimSpace(b.String()))
}

func pretty(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	out, err := json.MarshalIndent(json.RawMessage(raw), "", "  ") // the values as they were written
	if err != nil {
		return string(raw)
	}
	return string(out)
}

// split cuts a text into what blocks take; cut says that there was too much of it.
func split(text string) (pieces []string, cut bool) {
	for text != "" {
		n := min(len(text), maxSlackText)
		for n < len(text) && n > 0 && !utf8.RuneStart(text[n]) {
			n--
		}
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	if len(pieces) > maxSlackBlocks {
		return pieces[:shownOfCut], true
	}
	return pieces, false
}

// section is foreign text: nothing in it is read as markup, a mention or a link.
func section(text string) slack.Block {
	if strings.TrimSpace(text) == "" {
		text = "-"
	}
	return slack.NewSectionBlock(slack.NewTextBlockObject(slack.PlainTextType, text, false, false), nil, nil)
}

// click is what a button sends back: the very question that was shown.
type click struct {
	ID     interaction.ID `json:"i"`
	Option string         `json:"o"`
	Digest string         `json:"d,omitempty"`
}

// buttons are the answers that need no more than a click.
func (s *Slack) buttons(req interaction.Request) (out []slack.BlockElement) {
	for n, o := range req.Options {
		switch o.Action {
		case interaction.ActionApprove, interaction.ActionReject, interaction.ActionSkip, interaction.ActionTerminate:
		default:
			continue // it needs words
		}
		value, err := json.Marshal(click{ID: req.ID, Option: o.ID, Digest: req.Digest})
		if err != nil || len(value) > 2000 || o.RequiresInput || !slices.Contains(req.Actions(), o.Action) {
			continue
		}
		b := slack.NewButtonBlockElement(fmt.Sprintf("answer-%d", n), string(value), slack.NewTextBlockObject(slack.PlainTextType, clip(o.Label, 70), false, false))
		if o.Action == interaction.ActionTerminate || o.Dangerous {
			b = b.WithStyle(slack.StyleDanger)
		}
		out = append(out, b)
	}
	return out
}

// ended says in a line what became of a question.
func ended(i interaction.Interaction) string {
	how := string(i.Status)
	if i.Action != "" {
		how += " (" + string(i.Action) + ")"
	}
	var by []string
	for _, r := range i.Responses {
		by = append(by, r.Reviewer.ID.Named())
	}
	text := i.Request.Title + ": " + how
	if len(by) > 0 {
		text += " by " + strings.Join(by, ", ")
	}
	if i.Reason != "" {
		text += ". " + i.Reason
	}
	return clip(interaction.Visible(text), maxSlackText)
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
