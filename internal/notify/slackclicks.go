package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/slack-go/slack"

	"holdpoint/interaction"
)

// Answerer gives somebody's answer. Its error is for the one who answered.
type Answerer func(ctx context.Context, who interaction.Principal, r interaction.Response) error

// maxClick bounds what Slack sends for a click, which has the message that was clicked in it.
const maxClick = 1 << 20

// Clicks takes what Slack sends when somebody clicks. A request that Slack did not sign, or not within the last five
// minutes, is refused; the same click sent twice is one answer; and somebody who is not among the configured users is told so.
func (s *Slack) Clicks(answer Answerer) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxClick))
		if err != nil {
			http.Error(w, "the request can't be read", http.StatusBadRequest)
			return
		}
		if err := s.verify(r.Header, body); err != nil {
			http.Error(w, "the signature is not Slack's, or too old", http.StatusUnauthorized)
			return
		}
		event, err := clicked(body)
		if err != nil {
			http.Error(w, "this is no click", http.StatusBadRequest)
			return
		}
		s.take(context.WithoutCancel(r.Context()), event, answer) // Slack waits three seconds, and hangs up
		w.WriteHeader(http.StatusOK)                              // whatever became of it: Slack would only show that it failed
	})
}

func (s *Slack) verify(h http.Header, body []byte) error {
	v, err := slack.NewSecretsVerifier(h, s.c.Signing)
	if err != nil {
		return err
	}
	if _, err := v.Write(body); err != nil {
		return err
	}
	return v.Ensure()
}

func clicked(body []byte) (event slack.InteractionCallback, err error) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return event, err
	}
	if err := json.Unmarshal([]byte(form.Get("payload")), &event); err != nil {
		return event, err
	}
	if event.Type != slack.InteractionTypeBlockActions || event.User.ID == "" {
		return event, errors.New("not a click on a button")
	}
	return event, nil
}

// take gives the answers that a click stands for, and tells the one who clicked when one does not count.
func (s *Slack) take(ctx context.Context, event slack.InteractionCallback, answer Answerer) {
	for _, a := range event.ActionCallback.BlockActions {
		var c click
		if a == nil || json.Unmarshal([]byte(a.Value), &c) != nil || c.ID == "" || c.Option == "" {
			continue // a link, or another app's
		}
		who, known := s.c.Users[event.User.ID]
		if !known {
			s.tell(ctx, event, "Holdpoint does not know who you are: your Slack id "+event.User.ID+" is not among the notifier's users.")
			return
		}
		sum := sha256.Sum256([]byte(event.User.ID + "\x00" + a.ActionTs + "\x00" + a.Value))
		err := answer(ctx, who, interaction.Response{ID: interaction.ResponseID("slack-" + hex.EncodeToString(sum[:16])), RequestID: c.ID,
			OptionID: c.Option, Digest: c.Digest, Note: "answered in Slack"})
		if err != nil {
			s.tell(ctx, event, "That did not count: "+err.Error())
		}
	}
}

// tell shows something to the one who clicked, and to nobody else. That it can't be shown changes nothing.
func (s *Slack) tell(ctx context.Context, event slack.InteractionCallback, text string) {
	text, _ = s.c.Hider.Text(text)
	_, _ = s.client.PostEphemeralContext(ctx, s.c.Channel, event.User.ID, slack.MsgOptionText(clip(interaction.VisibleLines(text), 1000), true))
}
