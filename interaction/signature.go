package interaction

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"
)

// Signature proves that a bridge took a response from the person whom it names. It is Ed25519 (RFC 8032) over SignedBytes,
// by a key that the root key of the run certified, so that the signing key may change while runs wait.
type Signature struct {
	Certificate Certificate `json:"certificate"`
	Value       []byte      `json:"value"`
}

// Certificate says from when to when a signing key may be used. Value is the root key's signature over the rest.
type Certificate struct {
	Key       []byte    `json:"key"` // Ed25519 public key
	NotBefore time.Time `json:"not_before"`
	NotAfter  time.Time `json:"not_after"`
	Value     []byte    `json:"value"`
}

// Trust is whose answers count for a run. It is in the run's input, so that nothing which comes later can widen it.
type Trust struct {
	Root []byte `json:"root"` // Ed25519 public key
	// Unsigned is the highest risk of a question that an unsigned answer may decide, as one that is sent by Temporal's
	// own tools; "" is none. A question without a risk is one of low risk.
	Unsigned string `json:"unsigned,omitempty"`
}

// Risks are the risks of a question, the lowest first.
var Risks = []string{"low", "medium", "high", "critical"}

// lateness is for how long after its key's end a response that was signed before it may come to its run: it may have
// waited for a worker.
const lateness = 30 * 24 * time.Hour

// The signed bytes begin with what they are of, so that no signature counts for anything else.
const (
	responseContext    = "holdpoint response v1\n"
	certificateContext = "holdpoint signing key v1\n"
)

// KeyID is a short name of a public key.
func KeyID(public []byte) string {
	sum := sha256.Sum256(public)
	return hex.EncodeToString(sum[:8])
}

// SignedBytes is what a signature of the response is over: all of it but the signature.
func (r Response) SignedBytes() ([]byte, error) {
	r.Signature = nil
	b, err := json.Marshal(r)
	return append([]byte(responseContext), b...), err
}

// SignedBytes is what the root key signs.
func (c Certificate) SignedBytes() []byte {
	c.Value = nil
	b, _ := json.Marshal(c) // of bytes and times: years beyond 9999, which alone fail, are signed as nothing and so refused
	return append([]byte(certificateContext), b...)
}

// Check reports whether a response counts: it is signed by a key that the root certified, or may be unsigned. A nil Trust
// is of a run that was started without one: it takes answers as they come. req is nil while the question is not known;
// unsigned answers are judged when it is.
func (t *Trust) Check(r Response, req *Request, now time.Time) error {
	for _, part := range r.Responses {
		if part.Signature != nil || part.SignedBy != "" {
			return refuse(CodeInvalid, "responses", "a part of an answer has no signature of its own")
		}
	}
	if t == nil {
		return nil
	}
	if r.Signature == nil {
		if req == nil || t.takesUnsigned(req.Risk) {
			return nil
		}
		return refuse(CodeNotSigned, "", "this run takes only answers that its bridge has signed: answer over the bridge, or by its page or command line")
	}
	return t.checkSignature(r, now)
}

// Settle takes what was checked out of a response: with whose key is all that is kept.
func (t *Trust) Settle(r Response) Response {
	r.SignedBy = ""
	if t != nil && r.Signature != nil {
		r.SignedBy = KeyID(r.Signature.Certificate.Key)
	}
	r.Signature = nil
	return r
}

func (t *Trust) takesUnsigned(risk string) bool {
	if risk == "" {
		risk = Risks[0]
	}
	at := slices.Index(Risks, risk)
	return at >= 0 && at <= slices.Index(Risks, t.Unsigned)
}

func (t *Trust) checkSignature(r Response, now time.Time) error {
	forged := func(why string) error {
		return refuse(CodeForged, "signature", "%s: answer over the bridge, or by its page or command line", why)
	}
	c := r.Signature.Certificate
	if len(t.Root) != ed25519.PublicKeySize || !ed25519.Verify(t.Root, c.SignedBytes(), c.Value) {
		return forged("the signing key is none that this run's root key certified")
	}
	signed, err := r.SignedBytes()
	if err != nil || len(c.Key) != ed25519.PublicKeySize || !ed25519.Verify(c.Key, signed, r.Signature.Value) {
		return forged("the signature is not of this answer")
	}
	if r.RespondedAt.Before(c.NotBefore) || r.RespondedAt.After(c.NotAfter) || now.After(c.NotAfter.Add(lateness)) {
		return forged("the signing key was not valid when it was answered")
	}
	return nil
}
