package interaction

// Code says why a response or message can't be applied. The set is closed; every road (HTTP, update, signal)
// reports the same codes.
type Code string

const (
	CodeInvalid        Code = "invalid"         // malformed, or against the request's own rules
	CodeNotEntitled    Code = "not_entitled"    // this principal may not answer this
	CodeUnknown        Code = "unknown"         // no such interaction in this run
	CodeAlreadyDecided Code = "already_decided" // answered or cancelled before
	CodeExpired        Code = "expired"         // its deadline has passed
	CodeDigestMismatch Code = "digest_mismatch" // what was seen is not what is asked
	CodeTooLarge       Code = "too_large"
	CodeWrongRun       Code = "wrong_run"  // meant for another run of the session
	CodeNotSigned      Code = "not_signed" // the run takes signed answers only
	CodeForged         Code = "forged"     // the signature does not hold
)

// Error refuses a response or message. Field is the path of the offending field ("responses[1].action"), ""
// where it is the whole.
type Error struct {
	Code    Code   `json:"code"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

func (e *Error) Error() string {
	if e.Field != "" {
		return e.Field + ": " + e.Message
	}
	return e.Message
}
