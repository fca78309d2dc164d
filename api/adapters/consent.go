package adapters

import (
	"net/http"
	"time"

	"holdpoint/api"
	"holdpoint/interaction"
)

// consentRequest is the body of POST /agio/tool-consent.
type consentRequest struct {
	ToolCallID string    `json:"tool_call_id"`
	Decision   string    `json:"decision" enum:"allow,deny"`
	Patterns   []string  `json:"patterns" required:"false"`
	ExpiresAt  time.Time `json:"expires_at" required:"false" unsaid:"a rule without end"`
	UserID     string    `json:"user_id" required:"false"`
}

// consentReply answers it.
type consentReply struct {
	Success    bool   `json:"success"`
	ToolCallID string `json:"tool_call_id"`
	Message    string `json:"message"`
}

// consent allows or denies one call that waits.
func (a *Adapters) consent(w http.ResponseWriter, r *http.Request) {
	var in consentRequest
	err := read(r, &in)
	if err == nil {
		var message string
		if message, err = a.applyConsent(r, in); err == nil {
			reply(w, http.StatusOK, consentReply{true, in.ToolCallID, message})
			return
		}
	}
	p := a.asProblem(r.Context(), err)
	reply(w, p.Status, consentRefusal{false, in.ToolCallID, p.Detail, p.Detail})
}

// consentRefusal is what a refused consent is answered with.
type consentRefusal struct {
	Success    bool   `json:"success"`
	ToolCallID string `json:"tool_call_id"`
	Message    string `json:"message"`
	Detail     string `json:"detail"` // as the design's server words its own refusals
}

func (a *Adapters) applyConsent(r *http.Request, in consentRequest) (string, error) {
	if in.Decision != "allow" && in.Decision != "deny" {
		return "", refusal(http.StatusUnprocessableEntity, api.CodeInvalid, "decision must be allow or deny, not %q", in.Decision)
	}
	i, err := a.find(r.Context(), in.ToolCallID)
	if err != nil {
		return "", err
	}
	answer, err := yesOrNo(i.Request, in.Decision == "allow")
	if err != nil {
		return "", err
	}
	answer.Reviewer.ID = interaction.PrincipalID(in.UserID)
	if in.Decision == "allow" && len(in.Patterns) > 0 {
		answer.Grant = &interaction.Grant{Scope: widest(i.Request), Patterns: in.Patterns, ExpiresAt: in.ExpiresAt}
	}
	out, err := a.answer(r.Context(), i, answer)
	if err != nil {
		return "", gone(err, in.ToolCallID)
	}
	return consentMessage(in, out, answer.Grant != nil), nil
}

// widest is how far a grant of an earlier design goes: for the user, unless the rules keep it to the session. Where they
// permit none, the bridge says so.
func widest(q interaction.Request) interaction.GrantScope {
	if q.MaxGrant == interaction.GrantSession {
		return interaction.GrantSession
	}
	return interaction.GrantUser
}

// gone makes an expired interaction one that is not there, as the designs have it. One that was decided stays a conflict.
func gone(err error, id string) error {
	p, ok := err.(*api.Problem) //nolint:errorlint // the core returns nothing that wraps one
	if ok && (p.Code == api.CodeExpired || p.Decided != nil && p.Decided.Status == interaction.StatusExpired) {
		return notFound(id)
	}
	return err
}

func consentMessage(in consentRequest, out api.Answered, saved bool) string {
	switch {
	case out.Status == api.StatusStored:
		return "Decision stored; it is applied as soon as a worker takes it"
	case out.Status == string(interaction.StatusPending):
		return "Decision counted; more people have to agree"
	case in.Decision == "deny":
		return "Consent denied and execution resumed"
	case saved:
		return "Consent saved and execution resumed"
	default:
		return "Consent given and execution resumed"
	}
}
