package builtin

import (
	"errors"
	"fmt"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// refusal is a fault of the call: the model is told, and can mend it.
type refusal struct {
	text    string
	missing bool // a file does not exist
}

func (r *refusal) Error() string { return r.text }

func refuse(format string, args ...any) error {
	return &refusal{text: fmt.Sprintf(format, args...)}
}

// tell turns the error of a call into what Run returns: a failure for a refusal, else the error itself.
func tell(err error) (tool.Outcome, error) {
	if r, ok := errors.AsType[*refusal](err); ok {
		return tool.Failure(r.text), nil
	}
	return tool.Outcome{}, err
}

// decode reads a call's arguments: an object with exactly the named fields, each at most once.
func decode[T any](call tool.Call) (T, error) {
	var args T
	if err := interaction.Strict(call.Args, &args); err != nil {
		var zero T
		return zero, refuse("The arguments can't be used: %s", clip(interaction.Visible(err.Error()), 500))
	}
	return args, nil
}
