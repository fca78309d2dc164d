package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Webhook posts each message, signed as the Standard Webhooks specification has it, to one address, or, for callbacks, to
// the address of the program that asked.
type Webhook struct {
	url    string // "" is the program's own
	key    []byte
	inbox  string
	client *http.Client
	hosts  []string
	now    func() time.Time
	hider  Hider
}

// WebhookConfig is what a webhook is made of.
type WebhookConfig struct {
	URL    string // "" for callbacks
	Secret string // whsec_ and 24 to 64 bytes in base64
	Inbox  string // the address of the inbox, for links; "" gives none
	// Hosts are names that a callback may lead to although their addresses are private.
	Hosts []string
	Now   func() time.Time
	// Hider takes secrets out. nil hides nothing.
	Hider Hider
}

// NewWebhook makes a webhook, or says what is wrong with its settings.
func NewWebhook(c WebhookConfig) (*Webhook, error) {
	key, err := SigningKey(c.Secret)
	if err != nil {
		return nil, err
	}
	w := &Webhook{url: c.URL, key: key, inbox: c.Inbox, now: c.Now, hosts: c.Hosts, hider: c.Hider}
	if w.hider == nil {
		w.hider = none{}
	}
	if w.now == nil {
		w.now = time.Now
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	if c.URL == "" {
		transport = guarded(c.Hosts)
	}
	w.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return w, nil
}

// SigningKey reads a Standard Webhooks secret.
func SigningKey(secret string) ([]byte, error) {
	rest, ok := strings.CutPrefix(secret, "whsec_")
	key, err := base64.StdEncoding.DecodeString(rest)
	if !ok || err != nil || len(key) < 24 || len(key) > 64 {
		return nil, errors.New("must be whsec_ and 24 to 64 bytes in base64: echo whsec_$(openssl rand -base64 32) makes one")
	}
	return key, nil
}

// Notify sends one message. Only an answer in 2xx says that it has arrived; 410 that none is wanted any more.
func (w *Webhook) Notify(ctx context.Context, m Message) error {
	to := w.url
	if to == "" {
		if m.Run.Ask == nil || m.Run.Ask.CallbackURL == "" {
			return &RefusedError{Reason: "the program gave no address"}
		}
		to = m.Run.Ask.CallbackURL
		if err := CheckCallback(to, w.hosts); err != nil {
			return &RefusedError{Reason: err.Error()}
		}
	}
	body, err := m.body(w.inbox, w.hider)
	if err != nil {
		return &RefusedError{Reason: "the message can't be written: " + err.Error()}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return &RefusedError{Reason: "the address can't be used"}
	}
	stamp := strconv.FormatInt(w.now().Unix(), 10)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "holdpoint")
	req.Header.Set("webhook-id", m.ID)
	req.Header.Set("webhook-timestamp", stamp)
	req.Header.Set("webhook-signature", Sign(w.key, m.ID, stamp, body))
	resp, err := w.client.Do(req)
	if err != nil {
		return hidden(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10)) // so that the connection can be used again
	switch {
	case resp.StatusCode/100 == 2:
		return nil
	case resp.StatusCode == http.StatusGone:
		return &RefusedError{Reason: "the receiver answered 410: it wants no more"}
	default:
		return fmt.Errorf("the receiver answered %d", resp.StatusCode)
	}
}

// Sign is the webhook-signature of a body.
func Sign(key []byte, id, stamp string, body []byte) string {
	h := hmac.New(sha256.New, key)
	fmt.Fprintf(h, "%s.%s.", id, stamp)
	h.Write(body)
	return "v1," + base64.StdEncoding.EncodeToString(h.Sum(nil))
}
