package activities

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// A secret that a person gave is in the store, encrypted. It is opened here, for the tool that asked, and is taken out of
// everything that the tool returns before that goes anywhere.

// noKey is what a tool hears that asks for a secret where none can be kept.
const noKey = "This tool needs a secret from a person, and no key to keep it with is configured, so nobody was asked. " +
	"Whoever runs Holdpoint can declare one: a component of type secrets with key, 32 bytes in base64."

// readAnswer returns what a person answered to the tool, with its secrets still by reference, and those, encrypted, by place.
func (x *execution) readAnswer(ctx context.Context, tx Tx) error {
	if x.in.Answer == nil || len(x.in.Answer.Responses) == 0 {
		return nil
	}
	r := x.in.Answer.Responses[len(x.in.Answer.Responses)-1]
	x.answer, x.sealed = &r, map[string]string{}
	for place := range r.Secrets() {
		sealed, found, err := tx.Secret(ctx, interaction.SecretRef(r.ID, place))
		if err != nil {
			return err
		}
		if found {
			x.sealed[place] = sealed
		}
	}
	return nil
}

// openAnswer puts the secrets into the answer.
func (x *execution) openAnswer() error {
	if x.answer == nil || !x.answer.HasSecret() {
		return nil
	}
	id, of := x.answer.ID, x.in.Answer.InteractionID
	whole, err := x.answer.GiveSecrets(func(place string) (v interaction.SecretValue, err error) {
		sealed, found := x.sealed[place]
		switch {
		case x.a.Secrets == nil:
			return v, errors.New("no key for secrets is configured in this worker")
		case !found:
			return v, errors.New("it is not in the store any more")
		}
		plain, err := x.a.Secrets.Open(interaction.SecretBound(of, id, place), sealed)
		if err != nil {
			return v, err
		}
		if json.Unmarshal(plain, &v) != nil {
			return v, errors.New("it is not stored as it was given")
		}
		x.hidden = append(x.hidden, secretTexts(v)...)
		return v, nil
	})
	if err != nil {
		return err
	}
	x.answer = &whole
	return nil
}

// runOnce enters the tool, unless a secret that it was given can't be opened, and hides secrets in what comes of it.
func (x *execution) runOnce(ctx context.Context) tool.Outcome {
	if err := x.openAnswer(); err != nil {
		return tool.Failure(fmt.Sprintf("A person gave what this call needs, and it could not be read: %v. The call was not made.", err))
	}
	out := x.execute(ctx)
	if len(x.hidden) == 0 {
		return out
	}
	forms := secretForms(x.hidden)
	if out.Result != nil {
		res := *out.Result
		res.Content = scrub(res.Content, forms)
		out.Result = &res
	}
	if out.Request != nil {
		out.Request = scrubRequest(*out.Request, forms)
	}
	return out
}

// secretTexts are the texts in a secret.
func secretTexts(v interaction.SecretValue) []string {
	texts := []string{v.Text}
	var data any
	if len(v.Data) > 0 && json.Unmarshal(v.Data, &data) == nil {
		texts = append(texts, leaves(data)...)
		texts = append(texts, string(v.Data))
	}
	return texts
}

func leaves(v any) (out []string) {
	switch v := v.(type) {
	case string:
		return []string{v}
	case float64:
		b, err := json.Marshal(v)
		if err == nil {
			out = append(out, string(b))
		}
	case []any:
		for _, e := range v {
			out = append(out, leaves(e)...)
		}
	case map[string]any:
		for _, e := range v {
			out = append(out, leaves(e)...)
		}
	}
	return out
}

const (
	// minHidden is how long a text must be to be hidden: shorter ones stand everywhere by chance. minHiddenLine is the same
	// for a line of a text of several.
	minHidden, minHiddenLine = 4, 8
	hidden                   = "[secret removed]"
)

// secretForms are how a secret may be written: as it is, and as JSON, URLs and base64 have it. The longest come first.
func secretForms(texts []string) []string {
	var forms []string
	add := func(s string, least int) {
		if len(s) >= least && !slices.Contains(forms, s) {
			forms = append(forms, s)
		}
	}
	for _, text := range texts {
		trimmed := strings.TrimSpace(text)
		for _, t := range []string{text, trimmed} {
			if len(t) < minHidden {
				continue
			}
			add(t, minHidden)
			add(jsonForm(t, true), minHidden)
			add(jsonForm(t, false), minHidden)
			add(url.QueryEscape(t), minHidden)
			add(url.PathEscape(t), minHidden)
			for _, b := range base64Forms(t) {
				add(b, minHidden)
			}
		}
		if lines := strings.Split(trimmed, "\n"); len(lines) > 1 {
			for _, line := range lines {
				add(strings.TrimSpace(line), minHiddenLine)
			}
		}
	}
	slices.SortStableFunc(forms, func(a, b string) int { return len(b) - len(a) })
	return forms
}

func jsonForm(s string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if enc.Encode(s) != nil {
		return ""
	}
	return strings.Trim(strings.TrimSuffix(b.String(), "\n"), `"`)
}

// base64Forms are a text's own, and the middle of it where it stands behind one or two other bytes, as a password does
// behind a name.
func base64Forms(s string) []string {
	std, web := base64.StdEncoding.EncodeToString([]byte(s)), base64.URLEncoding.EncodeToString([]byte(s))
	out := []string{std, web, strings.TrimRight(std, "="), strings.TrimRight(web, "=")}
	for before := 1; before <= 2; before++ {
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			whole := encoding.EncodeToString([]byte(strings.Repeat("x", before) + s))
			first, last := before+1, len(whole)
			if (len(s)+before)%3 != 0 {
				last-- // the last character depends on what follows
			}
			if last-first >= minHiddenLine {
				out = append(out, whole[first:last])
			}
		}
	}
	return out
}

// scrub hides secrets, whole ones and those that a tool cut in two where it left something out.
func scrub(s string, forms []string) string {
	for _, f := range forms {
		s = strings.ReplaceAll(s, f, hidden)
	}
	const mark = "\n… "
	at := strings.Index(s, mark)
	rest := strings.Index(s, " left out …\n")
	if at < 0 || rest < at {
		return s
	}
	rest += len(" left out …\n")
	return scrubEnd(s[:at], forms) + s[at:rest] + scrubStart(s[rest:], forms)
}

// scrubEnd hides the beginning of a secret at the end of s.
func scrubEnd(s string, forms []string) string {
	for _, f := range forms {
		for n := len(f) - 1; n >= minHidden; n-- {
			if strings.HasSuffix(s, f[:n]) {
				return strings.TrimSuffix(s, f[:n]) + hidden
			}
		}
	}
	return s
}

// scrubStart hides the end of a secret at the start of s.
func scrubStart(s string, forms []string) string {
	for _, f := range forms {
		for n := 1; n <= len(f)-minHidden; n++ {
			if strings.HasPrefix(s, f[n:]) {
				return hidden + strings.TrimPrefix(s, f[n:])
			}
		}
	}
	return s
}

// scrubRequest hides secrets in what a tool asks next.
func scrubRequest(r interaction.Request, forms []string) *interaction.Request {
	for _, text := range []*string{&r.Title, &r.Message, &r.Details, &r.Placeholder, &r.ConfirmText, &r.CancelText} {
		*text = scrub(*text, forms)
	}
	r.Options = slices.Clone(r.Options)
	for n := range r.Options {
		o := &r.Options[n]
		o.ID, o.Label, o.Description, o.InputPrompt = scrub(o.ID, forms), scrub(o.Label, forms), scrub(o.Description, forms), scrub(o.InputPrompt, forms)
		o.Metadata = nil
	}
	r.Metadata = nil
	r.Interactions = slices.Clone(r.Interactions)
	for n := range r.Interactions {
		r.Interactions[n] = *scrubRequest(r.Interactions[n], forms)
	}
	return &r
}
