package interaction

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// checkShape checks what a response with a known, offered action carries.
func (r Request) checkShape(resp Response) error {
	if err := checkTexts(resp); err != nil {
		return err
	}
	if err := r.checkStray(resp); err != nil {
		return err
	}
	switch resp.Action {
	case ActionModifyArgs:
		return checkArgs(resp)
	case ActionAnswer:
		return r.checkAnswer(resp)
	case ActionProvideInfo:
		return r.checkProvided(resp)
	case ActionRedact:
		return checkFilled(resp.Text)
	case ActionCustom:
		return r.checkCustom(resp)
	default:
		return r.checkInput(resp)
	}
}

// takes names the fields that carry an answer of that action.
func (r Request) takes(a Action) []string {
	switch {
	case a == ActionModifyArgs:
		return []string{"args", "args_ref", "args_digest"}
	case a == ActionDelegate:
		return []string{"to", "until"}
	case a == ActionRedact:
		return []string{"text"}
	case a == ActionCustom:
		return []string{"text", "data"}
	case a != ActionAnswer && a != ActionProvideInfo:
		return nil
	case r.Secret:
		return []string{"secret_ref", "secret_digest", "text", "data"} // the latter two have a refusal of their own
	case r.Type == TypeConfirm:
		return []string{"confirmed"}
	case r.Type == TypeSelect:
		return []string{"selected"}
	case r.Type == TypeCombined:
		return []string{"responses"}
	case r.Type == TypeCustom, r.Type == TypeMissingInfo, a == ActionProvideInfo:
		return []string{"text", "data"}
	default:
		return []string{"text"}
	}
}

// checkStray refuses what the action would ignore: someone who approves and sends other arguments, or
// confirmed=false, means something else than what would happen.
func (r Request) checkStray(resp Response) error {
	takes := r.takes(resp.Action)
	carried := []struct {
		field string
		set   bool
	}{
		{"args", len(resp.Args) > 0},
		{"args_ref", resp.ArgsRef != ""},
		{"args_digest", resp.ArgsDigest != ""},
		{"secret_ref", resp.SecretRef != ""},
		{"secret_digest", resp.SecretDigest != ""},
		{"selected", len(resp.Selected) > 0},
		{"text", resp.Text != ""},
		{"confirmed", resp.Confirmed != nil},
		{"data", len(resp.Data) > 0},
		{"responses", len(resp.Responses) > 0},
		{"to", len(resp.To) > 0},
		{"until", !resp.Until.IsZero()},
	}
	for _, c := range carried {
		if c.set && !slices.Contains(takes, c.field) {
			return refuse(CodeInvalid, c.field, "does not go with %s on a %s request; %s", resp.Action, r.Type, strayHint(c.field))
		}
	}
	return nil
}

func strayHint(field string) string {
	switch field {
	case "secret_ref", "secret_digest":
		return "they are the bridge's, for questions that are marked secret"
	case "args", "args_ref", "args_digest":
		return "only modify_args changes arguments"
	case "text":
		return "put remarks in feedback or note"
	default:
		return "leave it out"
	}
}

func checkArgs(resp Response) error {
	inline, byRef := len(resp.Args) > 0, resp.ArgsRef != "" || resp.ArgsDigest != ""
	switch {
	case inline && byRef:
		return refuse(CodeInvalid, "args", "come twice, as args and as args_ref with args_digest; send one of them")
	case inline:
		var object map[string]json.RawMessage
		return within("args", Strict(resp.Args, &object))
	case resp.ArgsRef == "" && resp.ArgsDigest == "":
		return refuse(CodeInvalid, "args", "are missing: modify_args needs the arguments to run with, as a JSON object")
	case resp.ArgsRef == "":
		return refuse(CodeInvalid, "args_ref", "is missing: args_digest says which arguments, args_ref where they are")
	}
	if sum, err := hex.DecodeString(resp.ArgsDigest); err != nil || len(sum) != 32 || hex.EncodeToString(sum) != resp.ArgsDigest {
		return refuse(CodeInvalid, "args_digest", "must be the SHA-256 of the referenced arguments, 64 lowercase hexadecimal digits")
	}
	return nil
}

// checkInput asks for words where the chosen option needs them.
func (r Request) checkInput(resp Response) error {
	found := r.options(func(o Option) bool {
		return o.Action == resp.Action && (resp.OptionID == "" || o.ID == resp.OptionID)
	})
	if len(found) == 0 || !found[0].RequiresInput || strings.TrimSpace(resp.Feedback+resp.Note) != "" {
		return nil
	}
	return refuse(CodeInvalid, "feedback", "is missing: option %s needs a few words; put them in feedback or note", quote(found[0].ID))
}

// orNothing makes null, and space around nothing, the same as no value at all.
func orNothing(raw json.RawMessage) json.RawMessage {
	if t := bytes.TrimSpace(raw); len(t) == 0 || string(t) == "null" {
		return nil
	}
	return raw
}
