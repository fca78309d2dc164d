package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"holdpoint/api"
)

// Bounds of a call.
const (
	maxAnswerBytes = 64 << 20
	callTimeout    = 40 * time.Second // the bridge waits 20 s for a worker before it leaves an answer as a signal
	callAttempts   = 3
)

// client talks to one bridge.
type client struct {
	base  *url.URL
	token string
	http  *http.Client
	quick bool // one try only, for those who don't wait
	// line is what a line to type next begins with, and flags what it needs to reach the same bridge.
	line, flags string
}

func newClient(base *url.URL, token string) *client {
	return &client{base: base, token: token, http: &http.Client{
		// A token goes where it was sent and nowhere else.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// refusedError is a problem that the bridge answered with.
type refusedError struct{ problem api.Problem }

func (e *refusedError) Error() string {
	p := e.problem
	text := p.Detail
	if text == "" {
		text = p.Title
	}
	switch p.Code {
	case api.CodeUnauthenticated:
		return "the bridge does not know this token: give the right one by --token or HOLDPOINT_TOKEN"
	case api.CodeUnknownAgent:
		return strings.TrimSuffix(text, "; agents lists those there are") + ": there are " + strings.Join(p.Agents, ", ")
	}
	for _, f := range p.Errors {
		if f.Message != "" && !strings.Contains(text, f.Message) {
			text += fmt.Sprintf("; %s: %s", strings.TrimPrefix(f.Location, "body."), f.Message)
		}
	}
	return text
}

// code is the problem's code, "" for other errors.
func code(err error) api.Code {
	var r *refusedError
	if errors.As(err, &r) {
		return r.problem.Code
	}
	return ""
}

// call is one request. Calls that change something carry an id of their own, so repeating them is harmless.
type call struct {
	method, path string
	query        url.Values
	header       map[string]string
	body         any
}

// do sends a call, again where the bridge or the way to it fails for the moment, and decodes the answer into out.
func (cl *client) do(ctx context.Context, k call, out any) (status int, err error) {
	for attempt := 1; ; attempt++ {
		status, err = cl.once(ctx, k, out)
		if err == nil || !passing(err) || cl.quick || attempt == callAttempts || ctx.Err() != nil {
			return status, err
		}
		if !sleep(ctx, time.Duration(attempt)*500*time.Millisecond) {
			return status, err
		}
	}
}

// passing reports errors that another try may not meet.
func passing(err error) bool {
	var r *refusedError
	if errors.As(err, &r) {
		return r.problem.Status == http.StatusServiceUnavailable && r.problem.Code != api.CodeTooManyStreams
	}
	var u *url.Error
	return errors.As(err, &u)
}

func (cl *client) once(ctx context.Context, k call, out any) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	resp, err := cl.send(ctx, k)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswerBytes+1))
	if err != nil {
		return resp.StatusCode, fmt.Errorf("the answer of %s can't be read: %w", cl.base, err)
	}
	if len(data) > maxAnswerBytes {
		return resp.StatusCode, fmt.Errorf("the answer of %s is longer than %d bytes", cl.base, maxAnswerBytes)
	}
	if resp.StatusCode/100 != 2 {
		return resp.StatusCode, cl.refusal(resp, data)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return resp.StatusCode, fmt.Errorf("%s does not answer like a Holdpoint bridge (%v): check the address", cl.base, err)
	}
	return resp.StatusCode, nil
}

func (cl *client) send(ctx context.Context, k call) (*http.Response, error) {
	var body io.Reader
	if k.body != nil {
		b, err := json.Marshal(k.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	u := cl.base.JoinPath(k.path)
	u.RawQuery = k.query.Encode()
	req, err := http.NewRequestWithContext(ctx, k.method, u.String(), body)
	if err != nil {
		return nil, err
	}
	if k.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if cl.token != "" {
		req.Header.Set("Authorization", "Bearer "+cl.token)
	}
	for name, value := range k.header {
		req.Header.Set(name, value)
	}
	resp, err := cl.http.Do(req)
	if err != nil {
		return nil, cl.unreachable(err)
	}
	return resp, nil
}

// unreachable says what to do about a bridge that does not answer; the cause stays inside for passing.
func (cl *client) unreachable(err error) error {
	var op *net.OpError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("nothing answers at %s: start `holdpoint dev`, or name another bridge with --addr (%w)", cl.base, err)
	case errors.As(err, &untrusted):
		return fmt.Errorf("the certificate of %s is not trusted here: check the address, or name the file of its authority's certificate with SSL_CERT_FILE (%w)", cl.base, err)
	case errors.Is(err, http.ErrSchemeMismatch):
		return fmt.Errorf("%s does not speak TLS: write http:// in the address if that is meant (%w)", cl.base, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s has not answered in time: its /readyz says what it misses (%w)", cl.base, err)
	}
	return err
}

func (cl *client) refusal(resp *http.Response, data []byte) error {
	var p api.Problem
	if resp.StatusCode == http.StatusBadRequest && bytes.Contains(data, []byte("HTTPS")) && json.Unmarshal(data, &p) != nil { // net/http and proxies say so
		return fmt.Errorf("%s speaks TLS: write https:// in the address", cl.base)
	}
	if json.Unmarshal(data, &p) != nil || p.Code == "" {
		return fmt.Errorf("%s answers %q, which no Holdpoint bridge does: check the address", cl.base, resp.Status)
	}
	p.Status = resp.StatusCode
	return &refusedError{problem: p}
}

// sleep waits, and reports whether ctx still lives.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
