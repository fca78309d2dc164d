package notify

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"holdpoint/agent"
	"holdpoint/interaction"
)

func TestSignaturesAreThoseOfTheSpecification(t *testing.T) {
	t.Parallel()
	key, err := SigningKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := Sign(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", "1614265330", []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, wrong := range []string{"", "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_", "whsec_c2hvcnQ=", "whsec_%%%"} {
		if _, err := SigningKey(wrong); err == nil {
			t.Errorf("%q is taken for a secret", wrong)
		}
	}
}

func request(details string) interaction.Interaction {
	return interaction.Open(interaction.Request{ID: "r1-1-1-1", RunID: "r1", Title: "Run bash: make", ToolName: "bash", Digest: "sha256:1",
		ToolArgs: json.RawMessage(`{"command":"make","n":1.50}`), Details: details}, time.Now())
}

func TestSlackShowsAllOrOffersNoAnswer(t *testing.T) {
	t.Parallel()
	s := NewSlack(SlackConfig{Channel: "C1", Inbox: "https://holdpoint.example.com"})
	for name, c := range map[string]struct {
		change  func(i *interaction.Interaction)
		buttons bool
		says    string
	}{
		"short":               {func(*interaction.Interaction) {}, true, "1.50"},
		"long, and all of it": {func(i *interaction.Interaction) { i.Request.Details = strings.Repeat("é", 40_000) + "THE END" }, true, "THE END"},
		"too long":            {func(i *interaction.Interaction) { i.Request.Details = strings.Repeat("é", 80_000) + "THE END" }, false, "not all of it"},
		"an output":           {func(i *interaction.Interaction) { i.Request.Kind = interaction.KindResult }, false, "in the inbox only"},
		"a secret":            {func(i *interaction.Interaction) { i.Request.Type, i.Request.Secret = interaction.TypeInput, true }, false, "can't be answered here"},
		"closed": {func(i *interaction.Interaction) {
			i.Status, i.Action = interaction.StatusAnswered, interaction.ActionReject
		}, false, "answered (reject)"},
		"characters that turn text": {func(i *interaction.Interaction) { i.Request.Details = "rm \u202e fr-" }, true, `\u202e`},
	} {
		i := request("What it does")
		c.change(&i)
		blocks, _ := s.blocks(Message{Kind: agent.NoticeOpened, Interaction: i})
		raw, err := json.Marshal(blocks)
		if err != nil || len(blocks) > 50 {
			t.Fatalf("%s: %d blocks, %v", name, len(blocks), err)
		}
		var plain strings.Builder
		var read []struct{ Text struct{ Text string } }
		if err := json.Unmarshal(raw, &read); err != nil {
			t.Fatal(err)
		}
		for _, b := range read {
			if len([]rune(b.Text.Text)) > 3000 {
				t.Errorf("%s: a block has %d characters", name, len([]rune(b.Text.Text)))
			}
			plain.WriteString(b.Text.Text)
		}
		if strings.Contains(string(raw), `"button"`) != c.buttons || !strings.Contains(strings.ToLower(plain.String()), strings.ToLower(c.says)) {
			t.Errorf("%s: buttons %t, want %t and %q in\n%.2000s", name, !c.buttons, c.buttons, c.says, plain.String())
		}
	}
}

func TestAWebhookSaysThatItIsCut(t *testing.T) {
	t.Parallel()
	for size, cut := range map[int]bool{100: false, maxPayload: true} {
		raw, err := Message{Kind: agent.NoticeOpened, Interaction: request(strings.Repeat("x", size))}.body("", none{})
		if err != nil || len(raw) > maxPayload || strings.Contains(string(raw), `"cut":true`) != cut || strings.Contains(string(raw), `"action":"approve"`) == cut {
			t.Errorf("%d: %d bytes, cut %t, %v", size, len(raw), !cut, err)
		}
	}
}

func TestCallbacksDoNotLeadInside(t *testing.T) {
	t.Parallel()
	inside := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it was called") }))
	t.Cleanup(inside.Close)
	w, err := NewWebhook(WebhookConfig{Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"})
	if err != nil {
		t.Fatal(err)
	}
	port := inside.URL[strings.LastIndex(inside.URL, ":"):]
	for _, at := range []string{"https://localhost" + port, "https://127.0.0.1" + port, "http://127.0.0.1" + port, "https://[::ffff:127.0.0.1]" + port} {
		err := w.Notify(context.Background(), Message{Kind: agent.NoticeDecided, Run: agent.Run{Ask: &agent.Ask{CallbackURL: at}}})
		var refused *RefusedError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %v", at, err)
		}
	}
	for address, listed := range map[string]bool{"https://169.254.169.254/": true, "https://10.0.0.1/": false, "http://example.com/": false} {
		var hosts []string
		if listed {
			hosts = []string{"169.254.169.254"}
		}
		if CheckCallback(address, hosts) == nil {
			t.Errorf("%s is taken", address)
		}
	}
	if err := CheckCallback("https://example.com/x?y=z", nil); err != nil {
		t.Error(err)
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	calls := 0
	at := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(at.Close)
	w, err := NewWebhook(WebhookConfig{URL: at.URL, Secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Notify(context.Background(), Message{ID: "m", Kind: agent.NoticeOpened, Interaction: request("")}); err == nil || calls != 1 {
		t.Errorf("%d calls, %v", calls, err)
	}
}
