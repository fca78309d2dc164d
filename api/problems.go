package api

import (
	"fmt"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Code says what kind of problem it is. The set is closed and stable; clients may branch on it.
type Code string

// The codes. What they mean is in Problems.
const (
	CodeInvalid         Code = "invalid"
	CodeInvalidArgs     Code = "invalid_args"
	CodeUnauthenticated Code = "unauthenticated"
	CodeForbidden       Code = "forbidden"
	CodeForbiddenHost   Code = "forbidden_host"
	CodeForbiddenOrigin Code = "forbidden_origin"
	CodeNotEntitled     Code = "not_entitled"
	CodeNotSigned       Code = "not_signed"
	CodeForged          Code = "forged"
	CodeNotFound        Code = "not_found"
	CodeUnknownAgent    Code = "unknown_agent"
	CodeMethod          Code = "method"
	CodeAlreadyDecided  Code = "already_decided"
	CodeDigestMismatch  Code = "digest_mismatch"
	CodeWrongRun        Code = "wrong_run"
	CodeRunEnded        Code = "run_ended"
	CodeSessionBusy     Code = "session_busy"
	CodeIDReused        Code = "id_reused"
	CodeKeyReused       Code = "key_reused"
	CodeRuleInTheWay    Code = "rule_in_the_way"
	CodeExpired         Code = "expired"
	CodeTooLarge        Code = "too_large"
	CodeMediaType       Code = "media_type"
	CodeNotAcceptable   Code = "not_acceptable"
	CodeUpgrade         Code = "upgrade_required"
	CodeTooManyRequests Code = "too_many_requests"
	CodeNotReady        Code = "not_ready"
	CodeUnavailable     Code = "unavailable"
	CodeTooManyStreams  Code = "too_many_streams"
	CodeInternal        Code = "internal"
)

// ProblemKind is a kind of problem.
type ProblemKind struct {
	Code   Code
	Status []int // the HTTP statuses that it comes with
	Means  string
}

// Problems are all kinds, by status. docs/http.md has them too.
var Problems = []ProblemKind{
	{CodeInvalid, []int{400, 409, 422}, "the request does not say what it must, or what it names is ambiguous; errors says where"},
	{CodeUnauthenticated, []int{401}, "no valid token came with the request"},
	{CodeForbidden, []int{403}, "the caller's roles do not permit it"},
	{CodeForbiddenHost, []int{403}, "the request is for a host that this bridge is not"},
	{CodeForbiddenOrigin, []int{403}, "a page of another site sent it"},
	{CodeNotEntitled, []int{403}, "the caller may not answer this question, or leave this rule"},
	{CodeNotSigned, []int{403}, "the run takes signed answers only"},
	{CodeForged, []int{403}, "the answer's signature does not hold"},
	{CodeNotFound, []int{404}, "it is not there, or the caller may not see it"},
	{CodeMethod, []int{405}, "the address takes other methods; Allow says which"},
	{CodeNotAcceptable, []int{406}, "there is no answer of the type that Accept names"},
	{CodeAlreadyDecided, []int{409}, "others have decided; decided says who, how and when"},
	{CodeDigestMismatch, []int{409}, "the answer is for something else than what is asked now"},
	{CodeWrongRun, []int{409}, "the message is for another run of the session"},
	{CodeRunEnded, []int{409}, "the run has ended and takes nothing any more"},
	{CodeSessionBusy, []int{409}, "the session has a live run; run_id says which"},
	{CodeIDReused, []int{409}, "the id was used for something else"},
	{CodeRuleInTheWay, []int{409}, "a stored rule says more, and only an admin may end it"},
	{CodeExpired, []int{410}, "the deadline is over"},
	{CodeTooLarge, []int{413}, "it has more bytes than are taken; detail says how many"},
	{CodeMediaType, []int{415}, "a body is application/json"},
	{CodeInvalidArgs, []int{422}, "the edited arguments break the tool's schema, or have a mark in place of what was hidden; errors says where"},
	{CodeUnknownAgent, []int{422}, "there is no such agent; agents lists those there are"},
	{CodeKeyReused, []int{422}, "the Idempotency-Key was used for another body"},
	{CodeUpgrade, []int{426}, "the address takes WebSockets only"},
	{CodeTooManyRequests, []int{429}, "too many in a minute; Retry-After says when to come again"},
	{CodeInternal, []int{500}, "a fault of the bridge's; its log says what"},
	{CodeNotReady, []int{503}, "something that the bridge needs is missing; errors says what"},
	{CodeUnavailable, []int{503}, "something that it takes could not be reached: send the same again"},
	{CodeTooManyStreams, []int{503}, "as many streams are open as are taken; Retry-After says when to come again"},
}

func problemsOf(status int) (kinds []ProblemKind) {
	for _, k := range Problems {
		if slices.Contains(k.Status, status) {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// refusals describes what a status can mean.
func refusals(status int) string {
	var lines []string
	for _, k := range problemsOf(status) {
		lines = append(lines, fmt.Sprintf("%s: %s", k.Code, k.Means))
	}
	return strings.Join(lines, "; ")
}

// TransformSchema closes the set of codes in the description.
func (Problem) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	if code := s.Properties["code"]; code != nil {
		code.Enum = nil
		for _, k := range Problems {
			code.Enum = append(code.Enum, string(k.Code))
		}
	}
	return s
}
