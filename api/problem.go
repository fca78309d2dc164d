package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"holdpoint/interaction"
)

// ProblemTypePrefix precedes a Code in a problem's type.
const ProblemTypePrefix = "urn:holdpoint:problem:"

// Problem is the body of every error, as RFC 9457 has it, with a few members of ours.
type Problem struct {
	Type    string       `json:"type" doc:"Stable; urn:holdpoint:problem: and the code" example:"urn:holdpoint:problem:already_decided"`
	Code    Code         `json:"code" doc:"The last part of type" example:"already_decided"`
	Title   string       `json:"title" doc:"The kind of problem, for people"`
	Status  int          `json:"status" doc:"The HTTP status"`
	Detail  string       `json:"detail,omitempty" doc:"What is wrong here and how to mend it"`
	Errors  []FieldError `json:"errors,omitempty" doc:"One entry per offending part"`
	RunID   string       `json:"run_id,omitempty" doc:"The run in the way, with session_busy"`
	Agents  []string     `json:"agents,omitempty" doc:"The agents there are, with unknown_agent"`
	Decided *Decided     `json:"decided,omitempty" doc:"What was decided, with already_decided"`
	headers http.Header
}

// FieldError is one offending part of a request.
type FieldError struct {
	Location string `json:"location,omitempty" doc:"Path of the part" example:"body.args.n"`
	Message  string `json:"message"`
}

// Decided says how an interaction ended.
type Decided struct {
	Status interaction.Status        `json:"status"`
	Action interaction.Action        `json:"action,omitempty"`
	By     []interaction.PrincipalID `json:"by,omitempty"`
	At     time.Time                 `json:"at,omitzero"`
}

// Error makes a Problem an error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus gives huma the status.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders gives huma the headers that go with the problem.
func (p *Problem) GetHeaders() http.Header { return p.headers }

// ContentType gives huma the media type.
func (p *Problem) ContentType(string) string { return problemMedia }

const problemMedia = "application/problem+json"

func problem(status int, code Code, format string, args ...any) *Problem {
	return &Problem{Type: ProblemTypePrefix + string(code), Code: code, Title: title(code), Status: status,
		Detail: fmt.Sprintf(format, args...)}
}

func (p *Problem) at(location, message string) *Problem {
	p.Errors = append(p.Errors, FieldError{Location: location, Message: message})
	return p
}

func (p *Problem) header(name, value string) *Problem {
	if p.headers == nil {
		p.headers = http.Header{}
	}
	p.headers.Set(name, value)
	return p
}

// title is the code in words: it must not vary between occurrences.
func title(c Code) string {
	t := strings.ReplaceAll(string(c), "_", " ")
	return strings.ToUpper(t[:1]) + t[1:]
}

// refusal turns an interaction.Error into a problem. prefix is put before its field.
func refusal(e *interaction.Error, prefix string) *Problem {
	status, code := refusalStatus(e)
	p := problem(status, code, "%s", e.Error())
	if e.Field != "" {
		p.at(joinPath(prefix, e.Field), e.Message)
	}
	return p
}

func refusalStatus(e *interaction.Error) (int, Code) {
	switch e.Code {
	case interaction.CodeInvalid:
		if argsField(e.Field) {
			return http.StatusUnprocessableEntity, CodeInvalidArgs
		}
		return http.StatusBadRequest, CodeInvalid
	case interaction.CodeNotEntitled:
		return http.StatusForbidden, CodeNotEntitled
	case interaction.CodeUnknown:
		return http.StatusNotFound, CodeNotFound
	case interaction.CodeAlreadyDecided:
		return http.StatusConflict, CodeAlreadyDecided
	case interaction.CodeExpired:
		return http.StatusGone, CodeExpired
	case interaction.CodeDigestMismatch:
		return http.StatusConflict, CodeDigestMismatch
	case interaction.CodeTooLarge:
		return http.StatusRequestEntityTooLarge, CodeTooLarge
	case interaction.CodeWrongRun:
		return http.StatusConflict, CodeWrongRun
	case interaction.CodeNotSigned:
		return http.StatusForbidden, CodeNotSigned
	case interaction.CodeForged:
		return http.StatusForbidden, CodeForged
	default:
		return http.StatusInternalServerError, CodeInternal
	}
}

// argsField reports whether a field lies within a response's args.
func argsField(field string) bool {
	if _, rest, ok := strings.Cut(field, "]."); ok && strings.HasPrefix(field, "responses[") {
		field = rest
	}
	rest, ok := strings.CutPrefix(field, "args")
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

func joinPath(prefix, field string) string {
	switch {
	case field == "":
		return prefix
	case strings.HasPrefix(field, "["):
		return prefix + field
	default:
		return prefix + "." + field
	}
}

// fromHuma gives the errors that huma makes itself (decoding, schema) the same shape as ours.
func fromHuma(registry huma.Registry) huma.Transformer {
	return func(ctx huma.Context, _ string, v any) (any, error) {
		m, ok := v.(*huma.ErrorModel)
		if !ok {
			return v, nil
		}
		p := problem(m.Status, humaCode(m.Status), "%s", m.Detail)
		var body *huma.Schema
		if op := ctx.Operation(); op != nil && op.RequestBody != nil && op.RequestBody.Content["application/json"] != nil {
			body = op.RequestBody.Content["application/json"].Schema
		}
		for _, d := range m.Errors[:min(len(m.Errors), maxErrors)] {
			p.Errors = append(p.Errors, told(registry, body, d))
		}
		// A field that is misspelt tells more than that the right one is missing.
		slices.SortStableFunc(p.Errors, func(a, b FieldError) int { return cmp.Compare(missing(a), missing(b)) })
		if len(p.Errors) > 0 {
			p.Detail = p.Errors[0].Location + ": " + p.Errors[0].Message
		}
		return p, nil
	}
}

// maxErrors bounds how many offending parts a problem names: a body may have a hundred thousand.
const maxErrors = 50

// fieldFirst is how an *interaction.Error names a field in its text, which is all that huma keeps of it.
var fieldFirst = regexp.MustCompile(`^([a-z_][a-z0-9_]*(?:\[[0-9]+\]|\.[a-z_][a-z0-9_]*)*): `)

// within points at the field of a body that could not be decoded.
func within(location, message string) (string, string) {
	if field := fieldFirst.FindStringSubmatch(message); location == "body" && field != nil {
		return joinPath(location, field[1]), message[len(field[0]):]
	}
	return location, message
}

// missingAt points at the property that is missing, not at the object that lacks it.
func missingAt(location, message string) string {
	if rest, ok := strings.CutPrefix(message, "expected required property "); ok {
		if name, ok := strings.CutSuffix(rest, " to be present"); ok {
			return joinPath(location, name)
		}
	}
	return location
}

func humaCode(status int) Code {
	switch status {
	case http.StatusNotFound:
		return CodeNotFound
	case http.StatusMethodNotAllowed:
		return CodeMethod
	case http.StatusNotAcceptable:
		return CodeNotAcceptable
	case http.StatusRequestEntityTooLarge:
		return CodeTooLarge
	case http.StatusUnsupportedMediaType:
		return CodeMediaType
	}
	if status >= 400 && status < 500 {
		return CodeInvalid
	}
	return CodeInternal
}

// asProblem is what a handler's error looks like from outside; ok is false for what must stay inside.
func asProblem(err error) (p *Problem, ok bool) {
	if errors.As(err, &p) {
		return p, true
	}
	var e *interaction.Error
	if errors.As(err, &e) {
		return refusal(e, "body"), true
	}
	return problem(http.StatusInternalServerError, CodeInternal, "something went wrong inside; the server's log says what"), false
}
