package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"holdpoint/interaction"
)

// show is a path as a message has it: on one line, nothing hidden.
func show(path string) string { return "“" + clip(interaction.Visible(path), 300) + "”" }

// pathError words what the file system said about a path of the call, which is given as show returns it.
func pathError(shown string, err error) error {
	if _, ok := errors.AsType[*refusal](err); ok {
		return err
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", shown, err)
	case errors.Is(err, fs.ErrNotExist):
		return &refusal{text: shown + " does not exist.", missing: true}
	case errors.Is(err, syscall.ENOTDIR):
		return &refusal{text: shown + " does not exist: a part of the path is a file, not a directory.", missing: true}
	case errors.Is(err, fs.ErrPermission):
		return refuse("%s can't be used: the worker's user has no permission.", shown)
	case errors.Is(err, syscall.ENAMETOOLONG):
		return refuse("%s can't be used: the name is too long.", shown)
	case errors.Is(err, syscall.ELOOP):
		return refuse("%s can't be used: its symlinks lead in a circle.", shown)
	}
	cause := err
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		cause = pe.Err
	}
	return refuse("%s can't be used: %s.", shown, interaction.Visible(cause.Error()))
}

// isMissing reports whether err says that a file does not exist.
func isMissing(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	return ok && r.missing
}
