package interaction

import (
	"fmt"
	"slices"
	"strings"
)

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
