package interaction

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"testing"
	"time"
)

// signer is a root key and a signing key that it certified.
type signer struct {
	root, private ed25519.PrivateKey
	certificate   Certificate
}

func newSigner(t *testing.T, at time.Time) signer {
	t.Helper()
	_, root, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := Certificate{Key: public, NotBefore: at.Add(-time.Hour), NotAfter: at.Add(time.Hour)}
	c.Value = ed25519.Sign(root, c.SignedBytes())
	return signer{root, private, c}
}

func (s signer) trust() *Trust { return &Trust{Root: s.root.Public().(ed25519.PublicKey)} }

// sign signs, and sends the response as it travels: as JSON.
func (s signer) sign(t *testing.T, r Response) Response {
	t.Helper()
	b, err := r.SignedBytes()
	if err != nil {
		t.Fatal(err)
	}
	r.Signature = &Signature{Certificate: s.certificate, Value: ed25519.Sign(s.private, b)}
	wire, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := DecodeResponses(wire)
	if err != nil {
		t.Fatal(err)
	}
	return got[0]
}

func TestOnlyWhatTheBridgeSignedCounts(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 123456000, time.UTC)
	s, other := newSigner(t, now), newSigner(t, now)
	yes := true
	full := Response{ID: "r", RequestID: "run-1-1-1", Action: ActionModifyArgs, Args: json.RawMessage(`{ "a": "<b>", "n": 1.50 }`), Confirmed: &yes,
		Grant: &Grant{Scope: "session", Patterns: []string{"bash(ls)"}}, Data: json.RawMessage(`{"x": [1, 2]}`), Note: "ok",
		Reviewer: Principal{ID: "rex", Groups: []string{"ops"}}, RespondedAt: now}
	for name, tc := range map[string]struct {
		change func(r *Response)
		trust  *Trust
		now    time.Time
		want   Code
	}{
		"as it was signed":             {},
		"by nobody's measure":          {trust: &Trust{}, want: CodeForged},
		"by another root":              {trust: other.trust(), want: CodeForged},
		"another action":               {change: func(r *Response) { r.Action = ActionApprove }, want: CodeForged},
		"another interaction":          {change: func(r *Response) { r.RequestID = "run-1-2-1" }, want: CodeForged},
		"another person":               {change: func(r *Response) { r.Reviewer.ID = "ada" }, want: CodeForged},
		"another group":                {change: func(r *Response) { r.Reviewer.Groups = []string{"ops", "admins"} }, want: CodeForged},
		"other arguments":              {change: func(r *Response) { r.Args = json.RawMessage(`{"a":"<b>","n":1.5}`) }, want: CodeForged},
		"another grant":                {change: func(r *Response) { r.Grant = nil }, want: CodeForged},
		"another time":                 {change: func(r *Response) { r.RespondedAt = r.RespondedAt.Add(time.Microsecond) }, want: CodeForged},
		"no value":                     {change: func(r *Response) { r.Signature.Value = nil }, want: CodeForged},
		"a key of one's own":           {change: func(r *Response) { r.Signature.Certificate.Key = other.certificate.Key }, want: CodeForged},
		"a key without length":         {change: func(r *Response) { r.Signature.Certificate.Key = nil }, want: CodeForged},
		"a longer life":                {change: func(r *Response) { r.Signature.Certificate.NotAfter = now.Add(time.Hour * 99) }, want: CodeForged},
		"a life beyond what is":        {change: func(r *Response) { r.Signature.Certificate.NotAfter = now.AddDate(9000, 0, 0) }, want: CodeForged},
		"what can't be encoded":        {change: func(r *Response) { r.Data = json.RawMessage(`{`) }, want: CodeForged},
		"after it waited for a worker": {now: now.Add(20 * 24 * time.Hour)},
		"long after the key's end":     {now: now.Add(31 * 24 * time.Hour), want: CodeForged},
		"without a signature":          {change: func(r *Response) { r.Signature = nil }, want: CodeNotSigned},
		"a part that is signed": {change: func(r *Response) { r.Responses = []Response{{SignedBy: "me"}} },
			want: CodeInvalid},
	} {
		r := s.sign(t, full)
		if tc.change != nil {
			tc.change(&r)
		}
		if tc.trust == nil {
			tc.trust = s.trust()
		}
		if tc.now.IsZero() {
			tc.now = now
		}
		err := tc.trust.Check(r, &Request{}, tc.now)
		var e *Error
		if errors.As(err, &e); (e == nil) != (tc.want == "") || e != nil && e.Code != tc.want {
			t.Errorf("%s: %v, want %q", name, err, tc.want)
		}
	}
}

func TestAKeyCountsWhileItIsGood(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	s := newSigner(t, now)
	for _, at := range []time.Time{now.Add(-2 * time.Hour), now.Add(2 * time.Hour)} {
		r := s.sign(t, Response{RequestID: "i", Action: ActionApprove, RespondedAt: at})
		if err := s.trust().Check(r, nil, now); err == nil {
			t.Errorf("an answer of %s was taken", at)
		}
	}
}

func TestUnsignedAnswersCountUpToARisk(t *testing.T) {
	t.Parallel()
	plain := Response{RequestID: "i", Action: ActionApprove, SignedBy: "me"}
	for _, tc := range []struct {
		upTo, risk string
		taken      bool
	}{
		{"", "", false}, {"", "low", false}, {"low", "", true}, {"low", "low", true}, {"low", "medium", false}, {"high", "medium", true},
		{"high", "critical", false}, {"critical", "critical", true}, {"critical", "unheard of", false}, {"unheard of", "low", false},
	} {
		trust := &Trust{Root: make([]byte, ed25519.PublicKeySize), Unsigned: tc.upTo}
		if err := trust.Check(plain, &Request{Risk: tc.risk}, time.Time{}); (err == nil) != tc.taken {
			t.Errorf("up to %q, of risk %q: %v", tc.upTo, tc.risk, err)
		}
		if err := trust.Check(plain, nil, time.Time{}); err != nil {
			t.Errorf("before its question is known: %v", err)
		}
		if got := trust.Settle(plain); got.SignedBy != "" {
			t.Errorf("an unsigned answer says that it was signed by %q", got.SignedBy)
		}
	}
	var none *Trust
	s := newSigner(t, time.Now())
	signed := s.sign(t, plain)
	if err := none.Check(signed, &Request{Risk: "critical"}, time.Now()); err != nil || none.Settle(signed).SignedBy != "" {
		t.Errorf("a run without a root: %v", err)
	}
	if got := s.trust().Settle(signed); got.SignedBy != KeyID(s.certificate.Key) || got.Signature != nil {
		t.Errorf("what is kept of a signature: %+v", got)
	}
}
