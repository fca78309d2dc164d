package interaction

import (
	"fmt"
	"strings"
	"unicode"
)

// Bounds of a request that comes from outside: from a tool, a model, a caller of the bridge.
const (
	MaxOptions   = 100 // of one question
	MaxQuestions = 20  // of a combined request, those in its parts included
	MaxNesting   = 4   // levels of combined requests, one in the other
)

// Validate reports whether a person can make sense of the request and answer it: a known type, a title, options
// that can be told apart and carried out, bounded numbers of everything that a workflow keeps. The error is an *Error.
// Call it on what Open returns, before a request that was made elsewhere is shown.
func (r Request) Validate() error {
	if strings.TrimSpace(r.Title) == "" || len(r.Title) > MaxTitleBytes {
		return refuse(CodeInvalid, "title", "has %d bytes; it needs 1 to %d", len(r.Title), MaxTitleBytes)
	}
	if len(r.Actions()) == 0 {
		return refuse(CodeInvalid, "options", "offer nothing that can be carried out; offer some of %s", joinActions(choosable))
	}
	if r.Quorum < 0 {
		return refuse(CodeInvalid, "quorum", "is %d; it must not be negative", r.Quorum)
	}
	if !r.ExpiresAt.IsZero() && !r.ExpiresAt.After(r.CreatedAt) {
		return refuse(CodeInvalid, "expires_at", "is %s, not after the creation at %s", stamp(r.ExpiresAt), stamp(r.CreatedAt))
	}
	return r.validateQuestion(1)
}

func (r Request) validateQuestion(level int) error {
	if !r.Type.Valid() {
		return refuse(CodeInvalid, "type", "%s is no type of request", quote(string(r.Type)))
	}
	if r.Secret && r.Type != TypeMissingInfo && r.Type != TypeInput {
		return refuse(CodeInvalid, "secret", "does not go with %s; only missing_info and input are answered by a secret", r.Type)
	}
	if err := r.validateOptions(); err != nil {
		return err
	}
	if n := r.questions(); (r.Type == TypeCombined) != (n > 0) || n > MaxQuestions {
		return refuse(CodeInvalid, "interactions", "has %d questions; a combined request has 1 to %d, others have none", n, MaxQuestions)
	}
	for n, part := range r.Interactions {
		path := fmt.Sprintf("interactions[%d]", n)
		if part.Type == TypeToolApproval {
			return refuse(CodeInvalid, path+".type", "%s can't be one of several questions; ask it by itself", part.Type)
		}
		if level >= MaxNesting && part.Type == TypeCombined {
			return refuse(CodeInvalid, path+".type", "combined requests nest at most %d levels deep", MaxNesting)
		}
		if err := part.validateQuestion(level + 1); err != nil {
			return within(path, err)
		}
	}
	return nil
}

// questions counts the questions in r, at all levels.
func (r Request) questions() int {
	n := len(r.Interactions)
	for _, part := range r.Interactions {
		n += part.questions()
	}
	return n
}

func (r Request) validateOptions() error {
	if len(r.Options) > MaxOptions {
		return refuse(CodeInvalid, "options", "has %d entries; at most %d can be told apart", len(r.Options), MaxOptions)
	}
	choices := 0
	seen := map[string]bool{}
	for n, o := range r.Options {
		at := fmt.Sprintf("options[%d].", n)
		switch {
		case o.ID == "" || len(o.ID) > MaxIDBytes || strings.ContainsFunc(o.ID, unicode.IsControl):
			return refuse(CodeInvalid, at+"id", "%s must have 1 to %d bytes and no control characters", quote(o.ID), MaxIDBytes)
		case seen[o.ID]:
			return refuse(CodeInvalid, at+"id", "%s names two options", quote(o.ID))
		case !o.Action.Valid():
			return refuse(CodeInvalid, at+"action", "%s is no action", quote(string(o.Action)))
		case o.Action == ActionAnswer:
			choices++
		}
		seen[o.ID] = true
	}
	if r.Type == TypeSelect && choices == 0 {
		return refuse(CodeInvalid, "options", "has nothing to choose; give each choice the action answer")
	}
	return nil
}
