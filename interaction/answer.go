package interaction

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
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

// checkShape checks what a response with a known, offered action carries.
func (r Request) checkShape(resp Response) error {
	if err := checkTexts("", resp); err != nil {
		return err
	}
	if err := r.checkStray("", resp); err != nil {
		return err
	}
	switch resp.Action {
	case ActionModifyArgs:
		return checkArgs(resp)
	case ActionAnswer:
		return r.checkAnswer("", resp)
	default:
		return r.checkInput(resp)
	}
}

// takes names the fields that carry an answer of that action.
func (r Request) takes(a Action) []string {
	switch {
	case a == ActionModifyArgs:
		return []string{"args", "args_ref", "args_digest"}
	case a != ActionAnswer:
		return nil
	case r.Type == TypeConfirm:
		return []string{"confirmed"}
	case r.Type == TypeSelect:
		return []string{"selected"}
	case r.Type == TypeCombined:
		return []string{"responses"}
	case r.Type == TypeCustom:
		return []string{"text", "data"}
	default:
		return []string{"text"}
	}
}

// checkStray refuses what the action would ignore: someone who approves and sends other arguments, or
// confirmed=false, means something else than what would happen.
func (r Request) checkStray(path string, resp Response) error {
	takes := r.takes(resp.Action)
	carried := []struct {
		field string
		set   bool
	}{
		{"args", present(resp.Args)},
		{"args_ref", resp.ArgsRef != ""},
		{"args_digest", resp.ArgsDigest != ""},
		{"selected", len(resp.Selected) > 0},
		{"text", resp.Text != ""},
		{"confirmed", resp.Confirmed != nil},
		{"data", present(resp.Data)},
		{"responses", len(resp.Responses) > 0},
	}
	for _, c := range carried {
		if c.set && !slices.Contains(takes, c.field) {
			return refuse(CodeInvalid, path+c.field, "does not go with %s on a %s request; %s", resp.Action, r.Type, strayHint(c.field))
		}
	}
	return nil
}

func strayHint(field string) string {
	switch field {
	case "args", "args_ref", "args_digest":
		return "only modify_args changes arguments"
	case "text":
		return "put remarks in feedback or note"
	default:
		return "leave it out"
	}
}

func checkArgs(resp Response) error {
	inline, byRef := present(resp.Args), resp.ArgsRef != "" || resp.ArgsDigest != ""
	switch {
	case inline && byRef:
		return refuse(CodeInvalid, "args", "come twice, as args and as args_ref with args_digest; send one of them")
	case inline:
		return checkArgsObject(resp.Args)
	case resp.ArgsRef == "" && resp.ArgsDigest == "":
		return refuse(CodeInvalid, "args", "are missing: modify_args needs the arguments to run with, as a JSON object")
	case resp.ArgsRef == "":
		return refuse(CodeInvalid, "args_ref", "is missing: args_digest says which arguments, args_ref where they are")
	}
	if sum, err := hex.DecodeString(resp.ArgsDigest); err != nil || len(sum) != 32 {
		return refuse(CodeInvalid, "args_digest", "must be the SHA-256 of the referenced arguments, 64 hexadecimal digits")
	}
	return nil
}

func checkArgsObject(args json.RawMessage) error {
	var object map[string]json.RawMessage
	return within("args", Strict(args, &object))
}

// checkInput asks for words where the chosen option needs them.
func (r Request) checkInput(resp Response) error {
	found := r.options(func(o Option) bool {
		return o.Action == resp.Action && (resp.OptionID == "" || o.ID == resp.OptionID)
	})
	if !found[0].RequiresInput || strings.TrimSpace(resp.Feedback+resp.Note) != "" {
		return nil
	}
	return refuse(CodeInvalid, "feedback", "is missing: option %s needs a few words; put them in feedback or note", quote(found[0].ID))
}

// checkAnswer checks an answer against its question. path ends in "." or is empty.
func (r Request) checkAnswer(path string, resp Response) error {
	switch r.Type {
	case TypeConfirm:
		if resp.Confirmed == nil {
			return refuse(CodeInvalid, path+"confirmed", "is missing: say true or false")
		}
		return nil
	case TypeSelect:
		return r.checkSelected(path, resp)
	case TypeInput:
		return r.checkTyped(path, resp.Text)
	case TypeCombined:
		return r.checkCombined(path, resp)
	case TypeCustom:
		return checkData(path, resp)
	default:
		return checkFilled(path, resp.Text)
	}
}

func checkFilled(path, text string) error {
	if strings.TrimSpace(text) == "" {
		return refuse(CodeInvalid, path+"text", "is missing: write the answer")
	}
	return nil
}

func (r Request) checkTyped(path, text string) error {
	if r.Required {
		if err := checkFilled(path, text); err != nil {
			return err
		}
	}
	if !r.Multiline && strings.Contains(text, "\n") {
		return refuse(CodeInvalid, path+"text", "must be one line")
	}
	return nil
}

func checkData(path string, resp Response) error {
	if !present(resp.Data) {
		return checkFilled(path, resp.Text)
	}
	return within(path+"data", checkValue(resp.Data))
}

func (r Request) checkSelected(path string, resp Response) error {
	field := path + "selected"
	choices := r.options(func(o Option) bool { return o.Action == ActionAnswer })
	for n, id := range resp.Selected {
		at := fmt.Sprintf("%s[%d]", field, n)
		if !slices.ContainsFunc(choices, func(o Option) bool { return o.ID == id }) {
			return refuse(CodeInvalid, at, "%s is not among the choices; they are %s", quote(id), Request{Options: choices}.optionIDs())
		}
		if slices.Contains(resp.Selected[:n], id) {
			return refuse(CodeInvalid, at, "%s is chosen twice", quote(id))
		}
	}
	switch {
	case len(resp.Selected) == 0 && r.Required:
		return refuse(CodeInvalid, field, "is empty: choose from %s", Request{Options: choices}.optionIDs())
	case len(resp.Selected) > 1 && !r.Multiple:
		return refuse(CodeInvalid, field, "has %d choices; only one may be chosen", len(resp.Selected))
	case resp.OptionID != "" && !slices.Contains(resp.Selected, resp.OptionID):
		return refuse(CodeInvalid, path+"option_id", "%s is not among selected; leave one of them out", quote(resp.OptionID))
	}
	return nil
}

func (r Request) checkCombined(path string, resp Response) error {
	if len(resp.Responses) != len(r.Interactions) {
		return refuse(CodeInvalid, path+"responses", "has %d answers for %d questions; answer each, in order", len(resp.Responses), len(r.Interactions))
	}
	for n, question := range r.Interactions {
		if err := question.checkPart(fmt.Sprintf("%sresponses[%d].", path, n), resp.Responses[n]); err != nil {
			return err
		}
	}
	return nil
}

// checkPart checks one answer of several. A part is answered or skipped, nothing else: approvals and ends of runs
// are for whole interactions.
func (r Request) checkPart(path string, resp Response) error {
	if resp.RequestID != "" && resp.RequestID != r.ID {
		return refuse(CodeInvalid, path+"request_id", "is %s, but the question here is %s; keep their order", quote(string(resp.RequestID)), quote(string(r.ID)))
	}
	if resp.OptionID != "" {
		var err error
		if resp, err = r.resolveOption(path, resp); err != nil {
			return err
		}
	}
	if resp.Action == "" {
		resp.Action = ActionAnswer
	}
	if err := checkTexts(path, resp); err != nil {
		return err
	}
	if err := r.checkStray(path, resp); err != nil {
		return err
	}
	switch {
	case resp.Action == ActionAnswer && r.Type != TypeToolApproval:
		return r.checkAnswer(path, resp)
	case resp.Action == ActionSkip && !r.Required:
		return nil
	}
	return refuse(CodeInvalid, path+"action", "%s can't be given to one of several questions; answer it, or skip it where it is not required", quote(string(resp.Action)))
}

// present reports whether a JSON value was given; null is the same as nothing.
func present(raw json.RawMessage) bool {
	t := bytes.TrimSpace(raw)
	return len(t) > 0 && string(t) != "null"
}
