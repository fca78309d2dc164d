package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.temporal.io/sdk/client"

	"holdpoint/api"
	"holdpoint/interaction"
)

// keeper keeps secrets by turning them round, and notes what was sealed with what response.
type keeper struct {
	*store
	sealed map[string]string
}

func (k *keeper) Seal(bound, plain []byte) (string, error) { return turned(plain), nil }

func (k *keeper) Digest(bound, plain []byte, like string) (string, error) {
	return fmt.Sprintf("mac:%d", len(plain)*1000+len(bound)), nil
}

func (k *keeper) SaveSecretResponse(ctx context.Context, r interaction.Response, secrets []interaction.SealedSecret) (interaction.Response, bool, error) {
	old, inserted, err := k.SaveResponse(ctx, r)
	for _, s := range secrets {
		if inserted {
			k.sealed[s.Ref] = s.Sealed
		}
	}
	return old, inserted, err
}

func (k *keeper) Response(_ context.Context, id interaction.ResponseID) (interaction.Response, bool, error) {
	defer k.lock()()
	r, ok := k.responses[id]
	return r, ok, nil
}

func turned(b []byte) string {
	out := make([]byte, len(b))
	for n := range b {
		out[len(b)-1-n] = b[n]
	}
	return string(out)
}

func asksSecret(i *interaction.Interaction) {
	i.Request.Type, i.Request.Kind, i.Request.Secret = interaction.TypeMissingInfo, interaction.KindTool, true
	i.Request.Options = interaction.StandardOptions(interaction.KindTool, interaction.TypeMissingInfo)
	i.Request.Reviewers = []string{"rex"}
}

func TestASecretGoesOnByReference(t *testing.T) {
	t.Parallel()
	var k *keeper
	b := setup(t, func(c *api.Config) {
		k = &keeper{c.Store.(*store), map[string]string{}}
		c.Secrets = k
	})
	b.park("run-1", "i-1", asksSecret)
	down := true
	b.temporal.onUp = func(o client.UpdateWorkflowOptions) (any, error) {
		sent, err := json.Marshal(o.Args)
		if err != nil || strings.Contains(string(sent), "hunter22") {
			t.Errorf("sent on is %s (%v)", sent, err)
		}
		if down {
			return nil, context.DeadlineExceeded
		}
		return applied(o)
	}
	b.temporal.onSig = context.DeadlineExceeded
	answer := `{"id":"one","text":"hunter22"}`
	for who, want := range map[string]int{"rob": 404, "uma": 403} {
		if a := b.do(who, "POST", "/v1/interactions/i-1/respond", answer); a.status != want || strings.Contains(a.raw, "hunter22") {
			t.Errorf("%s: %d %s", who, a.status, a.raw)
		}
	}
	if len(k.sealed) != 0 {
		t.Errorf("those who may not answer left %v", k.sealed)
	}
	if a := b.do("rex", "POST", "/v1/interactions/i-1/respond", answer); a.status < 500 || strings.Contains(a.raw, "hunter22") {
		t.Errorf("while Temporal is away: %d %s", a.status, a.raw)
	}
	down, b.temporal.onSig = false, nil
	for range 2 {
		if a := b.do("rex", "POST", "/v1/interactions/i-1/respond", answer); a.status != 200 {
			t.Errorf("sent again: %d %s", a.status, a.raw)
		}
	}
	if a := b.do("rex", "POST", "/v1/interactions/i-1/respond", `{"id":"one","text":"another one"}`); a.status != 409 {
		t.Errorf("another secret under the same id: %d %s", a.status, a.raw)
	}
	if len(k.sealed) != 1 || k.sealed["one#"] != turned([]byte(`{"text":"hunter22"}`)) {
		t.Errorf("sealed is %v", k.sealed)
	}
	kept := k.responses["one"]
	if kept.Text != "" || kept.SecretRef != "one#" || kept.SecretDigest == "" {
		t.Errorf("kept is %+v", kept)
	}
	for _, path := range []string{"/v1/interactions/i-1", "/v1/runs/run-1"} {
		if a := b.do("ada", "GET", path, ""); strings.Contains(a.raw, "hunter22") {
			t.Errorf("%s tells it: %s", path, a.raw)
		}
	}
}

func TestABridgeWithoutAKeyTakesNoSecret(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.park("run-1", "i-1", asksSecret)
	a := b.do("rex", "POST", "/v1/interactions/i-1/respond", `{"text":"hunter22"}`)
	if a.status != 503 || !strings.Contains(a.raw, "type secrets") || strings.Contains(a.raw, "hunter22") || len(b.store.responses) != 0 {
		t.Errorf("%d %s, and kept %v", a.status, a.raw, b.store.responses)
	}
	if a := b.do("rex", "POST", "/v1/interactions/i-1/respond", `{"action":"skip"}`); a.status != 200 {
		t.Errorf("what is no secret: %d %s", a.status, a.raw)
	}
}
