package interaction

import (
	"fmt"
	"slices"
	"strings"
)

// checkAnswer checks an answer against its question.
func (r Request) checkAnswer(resp Response) error {
	if r.Secret {
		return checkSealed(resp)
	}
	switch r.Type {
	case TypeConfirm:
		if resp.Confirmed == nil {
			return refuse(CodeInvalid, "confirmed", "is missing: say true or false")
		}
		return nil
	case TypeSelect:
		return r.checkSelected(resp)
	case TypeInput:
		return r.checkTyped(resp.Text)
	case TypeCombined:
		return r.checkCombined(resp)
	case TypeCustom, TypeMissingInfo:
		return checkData(resp)
	default:
		return checkFilled(resp.Text)
	}
}

// checkProvided checks what a person gives to the tool that asked.
func (r Request) checkProvided(resp Response) error {
	switch {
	case r.Secret:
		return checkSealed(resp)
	case r.Type == TypeCombined:
		return r.checkCombined(resp)
	case r.Type == TypeInput && len(resp.Data) == 0:
		return r.checkTyped(resp.Text)
	default:
		return checkData(resp)
	}
}

// checkCustom checks what is handed to a tool as it is.
func (r Request) checkCustom(resp Response) error {
	switch {
	case len(resp.Data) > 0:
		return within("data", checkValue(resp.Data))
	case strings.TrimSpace(resp.Text) != "":
		return nil
	default:
		return r.checkInput(resp)
	}
}

func checkFilled(text string) error {
	if strings.TrimSpace(text) == "" {
		return refuse(CodeInvalid, "text", "is missing: write the answer")
	}
	return nil
}

func (r Request) checkTyped(text string) error {
	if r.Required {
		if err := checkFilled(text); err != nil {
			return err
		}
	}
	if !r.Multiline && strings.Contains(text, "\n") {
		return refuse(CodeInvalid, "text", "must be one line")
	}
	return nil
}

func checkData(resp Response) error {
	if len(resp.Data) == 0 {
		return checkFilled(resp.Text)
	}
	return within("data", checkValue(resp.Data))
}

func (r Request) checkSelected(resp Response) error {
	choices := r.options(func(o Option) bool { return o.Action == ActionAnswer })
	for n, id := range resp.Selected {
		at := fmt.Sprintf("selected[%d]", n)
		if !slices.ContainsFunc(choices, func(o Option) bool { return o.ID == id }) {
			return refuse(CodeInvalid, at, "%s is not among the choices; they are %s", quote(id), Request{Options: choices}.optionIDs())
		}
		if slices.Contains(resp.Selected[:n], id) {
			return refuse(CodeInvalid, at, "%s is chosen twice", quote(id))
		}
	}
	switch {
	case len(resp.Selected) == 0 && r.Required:
		return refuse(CodeInvalid, "selected", "is empty: choose from %s", Request{Options: choices}.optionIDs())
	case len(resp.Selected) > 1 && !r.Multiple:
		return refuse(CodeInvalid, "selected", "has %d choices; only one may be chosen", len(resp.Selected))
	case resp.OptionID != "" && !slices.Contains(resp.Selected, resp.OptionID):
		return refuse(CodeInvalid, "option_id", "%s is not among selected; leave one of them out", quote(resp.OptionID))
	}
	return nil
}

// checkCombined checks the parts of an answer, which resolve has counted.
func (r Request) checkCombined(resp Response) error {
	for n, question := range r.Interactions {
		if err := question.checkPart(resp.Responses[n]); err != nil {
			return within(partPath(n), err)
		}
	}
	return nil
}

// checkPart checks one answer of several. A part is answered or skipped, nothing else: approvals and ends of runs
// are for whole interactions.
func (r Request) checkPart(resp Response) error {
	if resp.RequestID != "" && resp.RequestID != r.ID {
		return refuse(CodeInvalid, "request_id", "is %s, but the question here is %s; keep their order", quote(string(resp.RequestID)), quote(string(r.ID)))
	}
	if err := checkTexts(resp); err != nil {
		return err
	}
	if err := r.checkStray(resp); err != nil {
		return err
	}
	switch {
	case resp.Action == ActionProvideInfo && r.Type == TypeMissingInfo:
		return r.checkProvided(resp)
	case resp.Action == ActionAnswer && r.Type != TypeToolApproval:
		return r.checkAnswer(resp)
	case resp.Action == ActionSkip && !r.Required:
		return nil
	}
	return refuse(CodeInvalid, "action", "%s can't be given to one of several questions; answer it, or skip it where it is not required", quote(string(resp.Action)))
}

func partPath(n int) string { return fmt.Sprintf("responses[%d]", n) }
