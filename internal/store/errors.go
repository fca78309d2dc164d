package store

import (
	"errors"
	"fmt"
	"time"

	"holdpoint/interaction"
)

var (
	// ErrBusy is wrapped by the error of a write that others kept from its turn for Config.BusyTimeout. Nothing was
	// written; trying again later makes sense.
	ErrBusy = errors.New("the database is busy")
	// ErrUnavailable is wrapped by the error of a call for which the database could not be reached for
	// Config.BusyTimeout. Nothing was written; trying again later makes sense.
	ErrUnavailable = errors.New("the database can't be reached")
	// ErrUncertain is wrapped by the error of a write whose commit was sent and never answered, and whose outcome
	// could not be found out later either: it was written whole, or not at all. Doing the same write again is right
	// if it is one that finds out by itself whether it was done, as every write of Holdpoint's activities does.
	ErrUncertain = errors.New("the write may or may not have been committed")
	// ErrNotFound is wrapped by the error of an update whose row does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists is wrapped by the error of an insert whose id or place is taken.
	ErrExists = errors.New("exists already")
	// ErrNewerSchema is wrapped by Open's error when a newer binary has already changed the database.
	ErrNewerSchema = errors.New("the database belongs to a newer version")
	// ErrStricter is wrapped by AddRules' error when a rule that says more is in the way.
	ErrStricter = errors.New("a stricter rule is stored already")
	// ErrTampered is wrapped by VerifyRun's error when the stored record is not what was written.
	ErrTampered = errors.New("the record was changed")
)

// MaxValueBytes bounds one stored value: a record's JSON form, a payload, a result.
const MaxValueBytes = 4 << 20

// maxIDBytes bounds an identifier. Ours are far shorter; a session's id may be chosen by a caller.
const maxIDBytes = 1024

func tooLarge(what string, size int) error {
	return &interaction.Error{Code: interaction.CodeTooLarge, Field: what,
		Message: fmt.Sprintf("%d bytes are more than the store takes (%d): shorten it", size, MaxValueBytes)}
}

func invalid(field, format string, args ...any) error {
	return &interaction.Error{Code: interaction.CodeInvalid, Field: field, Message: fmt.Sprintf(format, args...)}
}

// unavailable is the error of a call that has tried long enough.
func unavailable(err error, waited time.Duration, attempts int) error {
	return fmt.Errorf("%w: no answer in %s and %d attempts: %w", ErrUnavailable, waited.Round(time.Millisecond), attempts, err)
}

// in says where an error happened. It keeps nil nil.
func in(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("store: %s: %w", fmt.Sprintf(format, args...), err)
}
