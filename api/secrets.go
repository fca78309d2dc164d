package api

import (
	"context"
	"encoding/json"
	"net/http"

	"holdpoint/interaction"
)

// Secrets keeps what people answer to secret questions, so that it goes on by reference.
type Secrets interface {
	// Seal encrypts a secret for a place, and Digest stands for it: equal for equal secrets, made with the key of like, another
	// digest, or with the current one for "".
	Seal(bound, plain []byte) (string, error)
	Digest(bound, plain []byte, like string) (string, error)
	// SaveSecretResponse is SaveResponse, with the secrets beside it.
	SaveSecretResponse(ctx context.Context, r interaction.Response, secrets []interaction.SealedSecret) (existing interaction.Response, inserted bool, err error)
	// Response returns a response that was saved.
	Response(ctx context.Context, id interaction.ResponseID) (r interaction.Response, found bool, err error)
}

// seal takes the secrets out of a response, before anything of it is stored or sent.
func (s *Server) seal(ctx context.Context, q interaction.Request, r interaction.Response) (interaction.Response, []interaction.SealedSecret, error) {
	if !q.HasSecret() {
		return r, nil, nil
	}
	var sealed []interaction.SealedSecret
	var before map[string]string
	r, err := q.TakeSecrets(r, func(place string, v interaction.SecretValue) (ref, digest string, err error) {
		if s.cfg.Secrets == nil {
			return "", "", problem(http.StatusServiceUnavailable, CodeUnavailable, "this bridge has no key to keep a secret with, so nothing was stored or sent: "+
				"whoever runs it can declare a component of type secrets, with the key that the workers have")
		}
		if before == nil { // the same response, sent again, is compared by the key that it had
			old, _, err := s.cfg.Secrets.Response(ctx, r.ID)
			if err != nil {
				return "", "", err
			}
			before = old.Secrets()
		}
		plain, err := json.Marshal(v)
		if err != nil {
			return "", "", err
		}
		bound := interaction.SecretBound(q.ID, r.ID, place)
		if digest, err = s.cfg.Secrets.Digest(bound, plain, before[place]); err != nil {
			return "", "", err
		}
		one := interaction.SealedSecret{Ref: interaction.SecretRef(r.ID, place)}
		if one.Sealed, err = s.cfg.Secrets.Seal(bound, plain); err != nil {
			return "", "", err
		}
		sealed = append(sealed, one)
		return one.Ref, digest, nil
	})
	return r, sealed, err
}

// keep stores a response, and its secrets with it.
func (s *Server) keep(ctx context.Context, r interaction.Response, secrets []interaction.SealedSecret) (old interaction.Response, inserted bool, err error) {
	if len(secrets) == 0 {
		return s.cfg.Store.SaveResponse(ctx, r)
	}
	return s.cfg.Secrets.SaveSecretResponse(ctx, r, secrets)
}
