package interaction

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// MaxSecretBytes bounds one secret.
const MaxSecretBytes = 16 << 10

// SecretValue is what a person typed into a question that is marked secret.
type SecretValue struct {
	Text string          `json:"text,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
}

// HasSecret reports whether the request, or a part of it, asks for a secret.
func (r Request) HasSecret() bool {
	return r.Secret || slices.ContainsFunc(r.Interactions, Request.HasSecret)
}

// HasSecret reports whether the response, or a part of it, has a secret by reference.
func (r Response) HasSecret() bool {
	return r.SecretRef != "" || slices.ContainsFunc(r.Responses, Response.HasSecret)
}

// TakeSecrets returns resp without the secrets in it: each is given to keep, with its place in the response ("" or
// "responses[1]"), and what keep returns stands in its stead. A response to a question without secrets comes back as it
// is. Nothing in an error is taken from a secret.
func (r Request) TakeSecrets(resp Response, keep func(place string, v SecretValue) (ref, digest string, err error)) (Response, error) {
	if !r.HasSecret() {
		return resp, nil
	}
	resolved, err := r.resolve(resp)
	if err != nil {
		return resp, err
	}
	if resolved.Action != ActionAnswer && resolved.Action != ActionProvideInfo {
		return resp, nil
	}
	return r.takeSecrets("", resp, resolved, keep)
}

// takeSecrets does so at one place; resolved is resp as it will be carried out.
func (r Request) takeSecrets(place string, resp, resolved Response, keep func(string, SecretValue) (string, string, error)) (Response, error) {
	if r.Secret && resolved.Action != ActionSkip {
		return r.takeSecret(place, resp, keep)
	}
	if r.Type != TypeCombined || resolved.Action == ActionSkip {
		return resp, nil
	}
	if place != "" {
		place += "."
	}
	resp.Responses = slices.Clone(resp.Responses)
	for n, part := range r.Interactions { // resolve has counted them
		var err error
		if resp.Responses[n], err = part.takeSecrets(place+partPath(n), resp.Responses[n], resolved.Responses[n], keep); err != nil {
			return resp, within(partPath(n), err)
		}
	}
	return resp, nil
}

func (r Request) takeSecret(place string, resp Response, keep func(string, SecretValue) (string, string, error)) (Response, error) {
	if resp.SecretRef != "" || resp.SecretDigest != "" {
		return resp, refuse(CodeInvalid, "secret_ref", "is set by the bridge; send the value itself, as text or data")
	}
	v := SecretValue{Text: resp.Text, Data: orNothing(resp.Data)}
	if err := r.checkSecret(v); err != nil {
		return resp, err
	}
	var err error
	resp.Text, resp.Data = "", nil
	resp.SecretRef, resp.SecretDigest, err = keep(place, v)
	return resp, err
}

func (r Request) checkSecret(v SecretValue) error {
	switch {
	case strings.TrimSpace(v.Text) == "" && len(v.Data) == 0:
		return refuse(CodeInvalid, "text", "is missing: send the value as text or data")
	case v.Text != "" && len(v.Data) > 0:
		return refuse(CodeInvalid, "data", "comes beside text; send one of them")
	case len(v.Text)+len(v.Data) > MaxSecretBytes:
		return refuse(CodeTooLarge, "text", "has %d bytes; a secret has at most %d", len(v.Text)+len(v.Data), MaxSecretBytes)
	case strings.ContainsRune(v.Text, 0):
		return refuse(CodeInvalid, "text", "has a zero byte, which no program takes in a variable")
	case r.Type == TypeInput && !r.Multiline && strings.Contains(v.Text, "\n"):
		return refuse(CodeInvalid, "text", "must be one line")
	case len(v.Data) > 0 && checkValue(v.Data) != nil:
		return refuse(CodeInvalid, "data", "is no JSON value that can be taken")
	}
	return nil
}

// checkNoSecret refuses a secret that came as it is, before anything else is said of the response.
func (r Request) checkNoSecret(resp Response) error {
	if r.Secret && (resp.Text != "" || len(orNothing(resp.Data)) > 0) {
		return checkSealed(resp)
	}
	for n, part := range r.Interactions {
		if n < len(resp.Responses) {
			if err := part.checkNoSecret(resp.Responses[n]); err != nil {
				return within(partPath(n), err)
			}
		}
	}
	return nil
}

// checkSealed checks the answer to a secret question as a workflow gets it: by reference. One that comes as it is has
// been seen by Temporal, whose history forgets nothing.
func checkSealed(resp Response) error {
	switch {
	case resp.Text != "" || len(resp.Data) > 0:
		return refuse(CodeInvalid, "text", "holds a secret that was sent to Temporal directly. If it came as a signal, Temporal's history has it now: "+
			"make it invalid where it is used, and give a new one by holdpoint respond or the HTTP bridge, which keep it out of Temporal")
	case resp.SecretRef == "":
		return refuse(CodeInvalid, "text", "is missing: give the value by holdpoint respond or the HTTP bridge")
	case len(resp.SecretRef) > MaxIDBytes+MaxIDBytes || len(resp.SecretDigest) > MaxIDBytes || resp.SecretDigest == "":
		return refuse(CodeInvalid, "secret_ref", "is not one that the bridge makes")
	}
	return nil
}

// SealedSecret is a secret as it is stored.
type SealedSecret struct {
	Ref    string // stands in its response
	Sealed string // encrypted
}

// SecretRef names the secret at a place of a response. Response ids are unique, so references are.
func SecretRef(id ResponseID, place string) string { return string(id) + "#" + place }

// SecretBound is what a secret is bound to where it is encrypted: its interaction, its response and its place.
func SecretBound(of ID, id ResponseID, place string) []byte {
	return fmt.Appendf(nil, "%d:%s %d:%s %s", len(of), of, len(id), id, place)
}

// Secrets lists where in a response secrets are by reference: their digests by place.
func (r Response) Secrets() map[string]string {
	out := map[string]string{}
	r.eachSecret("", func(place string, part *Response) { out[place] = part.SecretDigest })
	return out
}

// GiveSecrets returns a response with its secrets in it, as open returns them for each place. It is for the tool alone.
func (r Response) GiveSecrets(open func(place string) (SecretValue, error)) (Response, error) {
	var failed error
	r = r.clone()
	r.eachSecret("", func(place string, part *Response) {
		v, err := open(place)
		if err != nil && failed == nil {
			failed = err
		}
		part.Text, part.Data = v.Text, v.Data
	})
	return r, failed
}

func (r Response) clone() Response {
	r.Responses = slices.Clone(r.Responses)
	for n := range r.Responses {
		r.Responses[n] = r.Responses[n].clone()
	}
	return r
}

func (r *Response) eachSecret(place string, do func(string, *Response)) {
	if r.SecretRef != "" {
		do(place, r)
	}
	if place != "" {
		place += "."
	}
	for n := range r.Responses {
		r.Responses[n].eachSecret(place+partPath(n), do)
	}
}

// WithoutAnswer returns the response without what might be a secret.
func (r Response) WithoutAnswer() Response {
	r.Text, r.Data, r.Responses = "", nil, nil
	return r
}
