package interaction

import (
	"slices"
	"strings"
)

// resolve fills in the action that an option stands for, or that a question's answer implies, and refuses actions
// that are not offered.
func (r Request) resolve(resp Response) (Response, error) {
	if resp.Action != "" && !resp.Action.Valid() {
		return resp, refuse(CodeInvalid, "action", "%s is no action; offered are %s", quote(string(resp.Action)), joinActions(r.Actions()))
	}
	if resp.OptionID != "" {
		return r.resolveOption("", resp)
	}
	if resp.Action == "" && r.answeredBy(resp) {
		resp.Action = ActionAnswer
	}
	if resp.Action == "" {
		return resp, refuse(CodeInvalid, "action", "is missing: say what to do, by action or option_id; offered are %s", joinActions(r.Actions()))
	}
	return resp, r.checkOffered(resp)
}

func (r Request) checkOffered(resp Response) error {
	if !slices.Contains(r.Actions(), resp.Action) {
		return refuse(CodeInvalid, "action", "%s is not offered; offered are %s", resp.Action, joinActions(r.Actions()))
	}
	return nil
}

func (r Request) resolveOption(path string, resp Response) (Response, error) {
	found := r.options(func(o Option) bool { return o.ID == resp.OptionID })
	if len(found) != 1 {
		return resp, refuse(CodeInvalid, path+"option_id", "%s names %d options; use one of %s", quote(resp.OptionID), len(found), r.optionIDs())
	}
	option := found[0]
	if resp.Action != "" && resp.Action != option.Action {
		return resp, refuse(CodeInvalid, path+"action", "is %s, but option %s stands for %s; leave one of them out",
			resp.Action, quote(resp.OptionID), option.Action)
	}
	resp.Action = option.Action
	if r.Type == TypeSelect && option.Action == ActionAnswer && len(resp.Selected) == 0 {
		resp.Selected = []string{option.ID}
	}
	return resp, r.checkOffered(resp)
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

// answeredBy reports whether resp has what answers a question of r's type, so that it needs no action to be
// understood. An approval is never implied.
func (r Request) answeredBy(resp Response) bool {
	switch r.Type {
	case TypeConfirm:
		return resp.Confirmed != nil
	case TypeSelect:
		return len(resp.Selected) > 0
	case TypeInput, TypeMissingInfo:
		return resp.Text != ""
	case TypeCombined:
		return len(resp.Responses) > 0
	case TypeToolApproval, TypeCustom:
		return false
	default:
		return false
	}
}
