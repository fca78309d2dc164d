package interaction

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// GrantScope is how far an answer may be kept. The set is closed.
type GrantScope string

const (
	GrantNone    GrantScope = "none"    // not at all; what "" means
	GrantSession GrantScope = "session" // for the session
	GrantUser    GrantScope = "user"    // for the user, in every session
)

func (g GrantScope) rank() int {
	switch g {
	case GrantUser:
		return 2
	case GrantSession:
		return 1
	default:
		return 0
	}
}

// Bounds of one grant: its rules, and the bytes of each.
const (
	MaxGrantPatterns = 20
	MaxPatternBytes  = 2 << 10
)

// Grant is an answer that is to hold for later calls too: with an approval "always allow", with a rejection "always
// reject". Patterns are rules of the permission language, such as bash(npm test:*); with none, those that the request
// suggests. It takes effect when the answer is carried out, so an answer that loses leaves nothing.
type Grant struct {
	Scope    GrantScope `json:"scope"`
	Patterns []string   `json:"patterns,omitempty"`
	// ExpiresAt ends it; zero means never.
	ExpiresAt time.Time `json:"expires_at,omitzero" unsaid:"a rule without end"`
	// MaxUses is how many later calls it may allow; 0 means any number. What is sent says any number by leaving it out.
	MaxUses int `json:"max_uses,omitempty" unsaid:"any number of calls"`
}

// checkGrant checks what an answer is to leave behind. Whether the patterns make sense is for who knows the language.
func (r Request) checkGrant(resp Response) error {
	g := resp.Grant
	if g == nil {
		return nil
	}
	rejects := resp.Action == ActionReject
	switch {
	case r.Type != TypeToolApproval || r.Kind != KindPermission:
		return refuse(CodeInvalid, "grant", "belongs to the approval of a call that the rules ask about")
	case resp.Action != ActionApprove && !rejects:
		return refuse(CodeInvalid, "grant", "goes with approve or reject, not with %s", resp.Action)
	case g.Scope != GrantSession && g.Scope != GrantUser:
		return refuse(CodeInvalid, "grant.scope", "%s is no scope: use session or user", quote(string(g.Scope)))
	case g.Scope.rank() > r.MaxGrant.rank() && !rejects:
		return refuse(CodeNotEntitled, "grant.scope", "is %s, and the rules let an answer to this be kept for: %s", g.Scope, orNone(r.MaxGrant))
	case len(g.Patterns) > MaxGrantPatterns:
		return refuse(CodeInvalid, "grant.patterns", "has %d entries; at most %d are taken", len(g.Patterns), MaxGrantPatterns)
	case g.MaxUses < 0 || rejects && g.MaxUses != 0:
		return refuse(CodeInvalid, "grant.max_uses", "is %d: with approve write 1 or more, or leave it out for any number of calls; with reject leave it out", g.MaxUses)
	case !g.ExpiresAt.IsZero() && !resp.RespondedAt.IsZero() && !g.ExpiresAt.After(resp.RespondedAt):
		return refuse(CodeInvalid, "grant.expires_at", "is %s, which is over", stamp(g.ExpiresAt))
	}
	for n, p := range g.Patterns {
		if at := fmt.Sprintf("grant.patterns[%d]", n); strings.TrimSpace(p) == "" {
			return refuse(CodeInvalid, at, "is empty: write a rule such as bash(npm test:*)")
		} else if len(p) > MaxPatternBytes {
			return refuse(CodeTooLarge, at, "has %d bytes; at most %d are taken", len(p), MaxPatternBytes)
		} else if slices.Contains(g.Patterns[:n], p) {
			return refuse(CodeInvalid, at, "%s comes twice", quote(p))
		}
	}
	return nil
}

func orNone(g GrantScope) GrantScope {
	if g == "" {
		return GrantNone
	}
	return g
}

// Grants returns what the answers leave behind, with who gave it: nothing unless as many people as had to decide gave
// the same. A rejection needs one.
func (out Outcome) Grants(quorum int) (g Grant, by []Principal, ok bool) {
	if out.Status != StatusAnswered || out.Action != ActionApprove && out.Action != ActionReject || len(out.Responses) == 0 {
		return g, nil, false
	}
	last := out.Responses[len(out.Responses)-1]
	if last.Grant == nil {
		return g, nil, false
	}
	if out.Action == ActionReject {
		quorum = 1
	}
	want, err := json.Marshal(last.Grant)
	if err != nil {
		return g, nil, false
	}
	for _, r := range out.Responses {
		given, err := json.Marshal(r.Grant)
		if err == nil && r.Action == out.Action && string(given) == string(want) && !slices.ContainsFunc(by, func(p Principal) bool { return p.ID == r.Reviewer.ID }) {
			by = append(by, r.Reviewer)
		}
	}
	return *last.Grant, by, len(by) >= max(quorum, 1)
}
