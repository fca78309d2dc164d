package auth

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
)

// maxIssuerBytes bounds what an issuer may answer.
const maxIssuerBytes = 1 << 20

// errIssuer is wrapped by what kept the issuer's answer away. It says nothing of a token.
var errIssuer = errors.New("the oidc issuer can't be reached")

// faultOf carries out of a verification why the keys could not be had: the verifier keeps no error's type.
type faultOf struct{ err error }

type faultKey struct{}

// keys are the issuer's, fetched again when a token names one that is not known.
type keys struct{ remote *oidc.RemoteKeySet }

// VerifySignature implements oidc.KeySet.
func (k keys) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	payload, err := k.remote.VerifySignature(ctx, jwt)
	if fault, ok := ctx.Value(faultKey{}).(*faultOf); ok && (errors.Is(err, errIssuer) || ctx.Err() != nil) {
		fault.err = err
	}
	return payload, err
}

// sparing is a transport that asks for one thing once in a while only: tokens with made-up key ids would otherwise
// have the bridge ask its issuer as often as anybody likes.
type sparing struct {
	base  http.RoundTripper
	every time.Duration
	now   func() time.Time

	mu   sync.Mutex
	kept map[string]answer
}

// answer is what was answered last, or why nothing was.
type answer struct {
	at     time.Time
	header http.Header
	body   []byte
	err    error
}

// RoundTrip answers from what is kept while that is fresh. Anything but a 200 is an error.
func (s *sparing) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := r.URL.String()
	a, known := s.kept[key]
	if !known || s.now().Sub(a.at) >= a.fresh(s.every) {
		a = s.ask(r)
		if s.kept == nil {
			s.kept = map[string]answer{}
		}
		s.kept[key] = a
	}
	if a.err != nil {
		return nil, a.err
	}
	return &http.Response{StatusCode: http.StatusOK, Status: "200 OK", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header.Clone(), Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: r}, nil
}

// fresh is how long an answer is kept: a failure a tenth as long, so that an issuer that comes back is found soon.
func (a answer) fresh(every time.Duration) time.Duration {
	if a.err != nil {
		return every / 10
	}
	return every
}

func (s *sparing) ask(r *http.Request) answer {
	a := answer{at: s.now()}
	resp, err := s.base.RoundTrip(r)
	if err != nil {
		a.err = fmt.Errorf("%w: %w", errIssuer, err)
		return a
	}
	defer resp.Body.Close()
	a.header = resp.Header
	if a.body, err = io.ReadAll(io.LimitReader(resp.Body, maxIssuerBytes+1)); err != nil {
		a.err = fmt.Errorf("%w: %w", errIssuer, err)
	} else if resp.StatusCode != http.StatusOK || len(a.body) > maxIssuerBytes {
		a.err = fmt.Errorf("%w: %s answers %s with %d bytes", errIssuer, r.URL.Redacted(), resp.Status, len(a.body))
	}
	return a
}
