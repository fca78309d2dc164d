package interaction

import (
	"slices"
	"strings"
)

// resolve fills in the action that an option stands for, or that a question's answer implies, and refuses actions
// that are not offered.
func (r Request) resolve(resp Response) (Response, error) {
	if resp.Action == "" && resp.OptionID == "" && r.answeredBy(resp) {
		resp.Action = r.answering()
	}
	if resp.Action == "" && resp.OptionID == "" {
		return resp, refuse(CodeInvalid, "action", "is missing: say what to do, by action or option_id; offered are %s", joinActions(r.Actions()))
	}
	resp, err := r.resolveOption(resp)
	if err != nil {
		return resp, err
	}
	if err := r.checkOffered(resp); err != nil {
		return resp, err
	}
	return r.resolveParts(resp)
}

// resolveParts resolves the answers to a combined request, each with its own question.
func (r Request) resolveParts(resp Response) (Response, error) {
	if r.Type != TypeCombined || resp.Action != ActionAnswer && resp.Action != ActionProvideInfo {
		return resp, nil
	}
	if len(resp.Responses) != len(r.Interactions) {
		return resp, refuse(CodeInvalid, "responses", "has %d answers for %d questions; answer each, in order", len(resp.Responses), len(r.Interactions))
	}
	parts := slices.Clone(resp.Responses)
	for n, question := range r.Interactions {
		part, err := question.resolveOption(parts[n])
		if err != nil {
			return resp, within(partPath(n), err)
		}
		if part.Action == "" {
			part.Action = ActionAnswer
		}
		if part, err = question.resolveParts(part); err != nil {
			return resp, within(partPath(n), err)
		}
		parts[n] = part
	}
	resp.Responses = parts
	return resp, nil
}

func (r Request) checkOffered(resp Response) error {
	if !slices.Contains(r.Actions(), resp.Action) && !slices.Contains(standing, resp.Action) {
		return refuse(CodeInvalid, "action", "%s is not offered; offered are %s", resp.Action, joinActions(r.Actions()))
	}
	return nil
}

// resolveOption gives a response that names an option that option's action and, where the option is a choice, the
// choice.
func (r Request) resolveOption(resp Response) (Response, error) {
	if resp.Action != "" && !resp.Action.Valid() {
		return resp, refuse(CodeInvalid, "action", "%s is no action; offered are %s", quote(string(resp.Action)), joinActions(r.Actions()))
	}
	resp.Args, resp.Data = orNothing(resp.Args), orNothing(resp.Data)
	if resp.Action == ActionAnswer && resp.OptionID == "" {
		resp.Action = r.answering()
	}
	if resp.OptionID == "" {
		return resp, nil
	}
	found := r.options(func(o Option) bool { return o.ID == resp.OptionID })
	if len(found) != 1 {
		return resp, refuse(CodeInvalid, "option_id", "%s names %d options; use one of %s", quote(resp.OptionID), len(found), r.optionIDs())
	}
	option := found[0]
	if resp.Action != "" && resp.Action != option.Action {
		return resp, refuse(CodeInvalid, "action", "is %s, but option %s stands for %s; leave one of them out",
			resp.Action, quote(resp.OptionID), option.Action)
	}
	resp.Action = option.Action
	if r.Type == TypeSelect && option.Action == ActionAnswer && len(resp.Selected) == 0 {
		resp.Selected = []string{option.ID}
	}
	return resp, nil
}

func (r Request) options(keep func(Option) bool) []Option {
	var out []Option
	for _, o := range r.Options {
		if keep(o) {
			out = append(out, o)
		}
	}
	return out
}

func (r Request) optionIDs() string {
	ids := make([]string, len(r.Options))
	for n, o := range r.Options {
		ids[n] = o.ID
	}
	return quote(strings.Join(ids, ", "))
}

// answering is what answering a question is: for missing information whose asker offers no other way, providing it.
func (r Request) answering() Action {
	offered := r.Actions()
	if r.Type == TypeMissingInfo && slices.Contains(offered, ActionProvideInfo) && !slices.Contains(offered, ActionAnswer) {
		return ActionProvideInfo
	}
	return ActionAnswer
}

// answeredBy reports whether resp has what answers a question of r's type, so that it needs no action to be
// understood. An approval is never implied.
func (r Request) answeredBy(resp Response) bool {
	switch r.Type {
	case TypeConfirm:
		return resp.Confirmed != nil
	case TypeSelect:
		return len(resp.Selected) > 0
	case TypeInput, TypeMissingInfo:
		return resp.Text != "" || resp.SecretRef != "" || r.Type == TypeMissingInfo && len(orNothing(resp.Data)) > 0
	case TypeCombined:
		return len(resp.Responses) > 0
	case TypeToolApproval, TypeCustom:
		return false
	default:
		return false
	}
}
