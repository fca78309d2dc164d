package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdpoint/api"
	"holdpoint/interaction"
)

// answer takes a person's answer to an interaction.
func answer(v *view) error {
	it, err := v.interaction(v.r.PathValue("id"))
	if err != nil {
		return err
	}
	resp, err := responseOf(it, v.r.PostForm, v.s.cfg.Clock())
	if err == nil {
		err = v.call(http.MethodPost, "/v1/interactions/"+path(it.ID)+"/respond", resp, nil)
	}
	if err == nil {
		if v.r.PostForm.Get("inline") != "" && v.fragment() {
			return gateCard(v)
		}
		return v.redirect("/inbox/" + path(it.ID))
	}
	if again, e := v.interaction(string(it.ID)); e == nil {
		it = again
	}
	c := v.card(it)
	c.Problem = asProblem(err)
	if c.Problem.Status >= 500 {
		v.s.cfg.Log.ErrorContext(v.r.Context(), "answer failed", "interaction_id", it.ID, "error", err)
	}
	return v.showCard(c.Problem.Status, c)
}

func invalid(format string, args ...any) *api.Problem {
	return &api.Problem{Status: http.StatusBadRequest, Code: api.CodeInvalid, Title: "Not sent", Detail: fmt.Sprintf(format, args...)}
}

// responseOf makes the response that a form says.
func responseOf(it api.Interaction, form url.Values, now time.Time) (interaction.Response, error) {
	r := interaction.Response{ID: interaction.ResponseID(form.Get("answer_id")), RequestID: it.ID, Digest: form.Get("digest"),
		Feedback: strings.TrimSpace(unix(form.Get("feedback")))}
	do := form.Get("do")
	switch do {
	case "delegate":
		return delegation(r, form, now)
	case "yes", "no":
		if it.Type == interaction.TypeConfirm {
			yes := do == "yes"
			r.Action, r.Confirmed = interaction.ActionAnswer, &yes
			return r, nil
		}
	case "choose":
		if it.Type == interaction.TypeSelect {
			r.Action, r.Selected = interaction.ActionAnswer, form["selected"]
			return r, nil
		}
	}
	n := slices.IndexFunc(it.Options, func(o interaction.Option) bool { return o.ID == do })
	if n < 0 {
		return r, invalid("Choose one of the answers.")
	}
	o := it.Options[n]
	r.Action, r.OptionID = o.Action, o.ID
	return filled(r, it, o, form, now)
}

// filled adds what the option's action carries.
func filled(r interaction.Response, it api.Interaction, o interaction.Option, form url.Values, now time.Time) (interaction.Response, error) {
	approves := o.Action == interaction.ActionApprove || o.Action == interaction.ActionModifyArgs
	if (approves && risky(it) || o.Dangerous) && form.Get("sure") != "yes" {
		return r, invalid("This is marked dangerous. Tick the box beside the button to say that you mean it.")
	}
	var err error
	switch o.Action {
	case interaction.ActionModifyArgs:
		if r.Args, err = argsOf(form); err != nil {
			return r, invalid("The arguments were not sent: %v", err)
		}
	case interaction.ActionRedact:
		r.Text = unix(form.Get("text"))
	case interaction.ActionAnswer, interaction.ActionProvideInfo:
		return answered(r, it.Request, "", form)
	case interaction.ActionApprove, interaction.ActionReject:
		r.Grant, err = grantOf(form, now)
	}
	return r, err
}

// answered adds the answer to a question; prefix tells the fields of one part of a combined question.
func answered(r interaction.Response, q interaction.Request, prefix string, form url.Values) (interaction.Response, error) {
	text := unix(form.Get(prefix + "text"))
	switch q.Type {
	case interaction.TypeConfirm:
		yes := form.Get(prefix+"confirmed") == "yes"
		r.Confirmed = &yes
	case interaction.TypeSelect:
		r.Selected = form[prefix+"selected"]
	case interaction.TypeCombined:
		for n, part := range q.Interactions {
			at := prefix + strconv.Itoa(n) + "."
			sub := interaction.Response{RequestID: part.ID, Action: interaction.ActionAnswer}
			if form.Get(at+"skip") != "" {
				sub.Action = interaction.ActionSkip
			} else if filled, err := answered(sub, part, at, form); err != nil {
				return r, err
			} else {
				sub = filled
			}
			r.Responses = append(r.Responses, sub)
		}
	case interaction.TypeCustom:
		if !q.Secret && json.Valid([]byte(text)) && text != "" {
			r.Data = json.RawMessage(text)
		} else {
			r.Text = text
		}
	default:
		r.Text = text
	}
	return r, nil
}

func delegation(r interaction.Response, form url.Values, now time.Time) (interaction.Response, error) {
	r.Action = interaction.ActionDelegate
	r.To = strings.FieldsFunc(form.Get("to"), func(c rune) bool { return c == ',' || c == ' ' || c == '\n' || c == '\r' })
	if len(r.To) == 0 {
		return r, invalid("Name who is asked instead: people's ids, or group:name.")
	}
	var err error
	r.Until, err = after(form.Get("until"), now)
	return r, err
}

// grantOf is what an answer leaves behind; nil unless the box is ticked.
func grantOf(form url.Values, now time.Time) (*interaction.Grant, error) {
	if form.Get("always") == "" {
		return nil, nil
	}
	g := &interaction.Grant{Scope: interaction.GrantScope(form.Get("scope"))}
	for _, p := range form["pattern"] {
		if p = strings.TrimSpace(p); p != "" && !slices.Contains(g.Patterns, p) {
			g.Patterns = append(g.Patterns, p)
		}
	}
	if len(g.Patterns) == 0 {
		return nil, invalid("Choose or write at least one pattern that is to hold from now on, or untick the box.")
	}
	var err error
	if g.ExpiresAt, err = after(form.Get("expires"), now); err != nil {
		return nil, err
	}
	if uses := strings.TrimSpace(form.Get("uses")); uses != "" {
		if g.MaxUses, err = strconv.Atoi(uses); err != nil || g.MaxUses < 1 {
			return nil, invalid("How many calls it may allow is a number from 1, or nothing.")
		}
	}
	return g, nil
}

// after is a time from now on; zero for "".
func after(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	d, err := interaction.ParseSpan(text)
	if err != nil || d <= 0 {
		return time.Time{}, invalid("%q is no duration, such as 24h", text)
	}
	return now.Add(d).UTC().Truncate(time.Second), nil
}

// hold stops an interaction's clock, or lets it go on.
func hold(v *view) error {
	it, err := v.interaction(v.r.PathValue("id"))
	if err != nil {
		return err
	}
	action := "pause"
	if it.Status == interaction.StatusHeld {
		action = "resume"
	}
	if err := v.call(http.MethodPost, "/v1/runs/"+path(it.RunID)+"/control", map[string]any{"action": action, "interaction_id": it.ID,
		"note": v.r.PostForm.Get("note")}, nil); err != nil {
		c := v.card(it)
		c.Problem = asProblem(err)
		return v.showCard(c.Problem.Status, c)
	}
	return v.redirect("/inbox/" + path(it.ID))
}
