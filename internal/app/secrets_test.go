package app_test

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"holdpoint/event"
	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
)

// secretValue has something that JSON, URLs and base64 each write in another way.
const secretValue = `hunter"22 <&>/+ü`

const needsToken = "---\ntype: tool\nname: bash\nneeds: [{name: GITHUB_TOKEN, prompt: A token that may read issues.}]\n"

// secretForms are how it might be written.
func secretForms() []string {
	quoted, _ := json.Marshal(secretValue)
	return []string{secretValue, strings.Trim(string(quoted), `"`), `hunter\"22 <&>/+ü`, url.QueryEscape(secretValue), url.PathEscape(secretValue),
		base64.StdEncoding.EncodeToString([]byte(secretValue)), base64.RawURLEncoding.EncodeToString([]byte(secretValue)), "hunter"}
}

// files names those below the data directory that hold one of these texts.
func files(h *apptest.Holdpoint, texts []string) (where []string) {
	h.T.Helper()
	err := filepath.WalkDir(h.Options.Data, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(string(b), s) }) {
			where = append(where, path)
		}
		return err
	})
	if err != nil {
		h.T.Fatal(err)
	}
	return where
}

// approved has a run whose call was approved and asks for its secret.
func approved(h *apptest.Holdpoint, run apptest.RunView) interaction.Request {
	h.T.Helper()
	call := h.Waits(run.RunID, 1)[0]
	h.Answer(call.ID, map[string]any{"action": "approve", "reviewer": map[string]any{"id": "ada"}})
	asked := following(h, run, call.ID)
	if asked.Type != interaction.TypeMissingInfo || !asked.Secret || asked.Kind != interaction.KindTool || !strings.Contains(asked.Message, "A token that may read issues.") {
		h.T.Fatalf("it asks %+v", asked)
	}
	return asked
}

func TestASecretReachesTheCommandAndNothingElse(t *testing.T) {
	t.Parallel()
	const command = `printf %s "$GITHUB_TOKEN" > seen; echo "it is $GITHUB_TOKEN, or $(printf %s "$GITHUB_TOKEN" | base64)"; exit 3`
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	h := apptest.Start(t, apptest.WithRules(`{match: bash, decision: ask, reviewers: [ada], timeout: 1h}`),
		apptest.WithModel(apptest.Turns(apptest.Calls("bash", string(args)))), withConfig(needsToken))
	run := h.Begin("go")
	asked := approved(h, run)
	gives := func(id, who, text string) map[string]any {
		return map[string]any{"id": id, "action": "provide_info", "text": text, "reviewer": map[string]any{"id": who}}
	}
	refusedWith(h, asked.ID, gives("eves", "eve", secretValue), 403)
	refusedWith(h, asked.ID, gives("empty", "ada", " "), 400)
	refusedWith(h, asked.ID, map[string]any{"action": "skip", "text": secretValue, "reviewer": map[string]any{"id": "ada"}}, 400)
	if rows := tables(h)["secrets"]; rows != "" {
		t.Errorf("a refused answer left %q", rows)
	}
	h.Signal(run.Workflow, map[string]any{"id": "by-signal", "request_id": asked.ID, "action": "provide_info", "text": "signalled-one", "reviewer": map[string]any{"id": "ada"}})
	if said := refusals(h, run.RunID, 1)[0]; said.ResponseID != "by-signal" || !strings.Contains(said.Message, "Temporal's history has it now") || strings.Contains(said.Message, "signalled-one") {
		t.Errorf("a secret by signal: %+v", said)
	}
	h.Answer(asked.ID, gives("adas", "ada", secretValue))
	h.Answer(asked.ID, gives("adas", "ada", secretValue)) // sent again
	refusedWith(h, asked.ID, gives("adas", "ada", "another"), 409)
	completes(h, run.RunID)

	if seen, err := os.ReadFile(filepath.Join(h.Dir, "seen")); err != nil || string(seen) != secretValue {
		t.Errorf("the command saw %q (%v)", seen, err)
	}
	got := lastResult(t, h.Events(run.RunID))
	if want := "it is [secret removed], or [secret removed]\n[exit status 3]"; got.Content != want {
		t.Errorf("the model got %q, want %q", got.Content, want)
	}
	if where := leaks(h, run, secretForms()...); len(where) > 0 {
		t.Errorf("the secret stands in %v", where)
	}
	if where := files(h, secretForms()); len(where) > 0 {
		t.Errorf("the secret stands in %v", where)
	}
	if rows := tables(h)["secrets"]; rows != "" {
		t.Errorf("what was encrypted is still there when the call is finished: %q", rows)
	}
	answered := eventsOf[event.InteractionResponseData](h, run.RunID, event.InteractionResponse)
	last := answered[len(answered)-1]
	if len(last.Responses) != 1 || last.Responses[0].SecretRef == "" || last.Responses[0].SecretDigest == "" || last.Action != interaction.ActionProvideInfo {
		t.Errorf("the record has %+v", last)
	}
	events := h.Closed(run.Workflow)
	replay(t, events)
}

func TestASecretIsKeptEncryptedUntilItsRunIsOver(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithRules(`{match: bash, decision: ask}`),
		apptest.WithModel(apptest.Turns(apptest.Calls("bash", `{"command":"echo \"${GITHUB_TOKEN:0:3}\"; echo \"$OTHER\""}`))),
		withConfig(strings.Replace(needsToken, "needs: [", "needs: [{name: OTHER, secret: false}, ", 1)))
	run := h.Begin("go")
	call := h.Waits(run.RunID, 1)[0]
	h.Answer(call.ID, map[string]any{"action": "approve"})
	asked := following(h, run, call.ID)
	if asked.Type != interaction.TypeCombined || len(asked.Interactions) != 2 {
		t.Fatalf("it asks %+v", asked)
	}
	control(t, h, run, "pause_run")
	h.Answer(asked.ID, map[string]any{"responses": []any{map[string]any{"text": "no secret"}, map[string]any{"text": secretValue}}})
	if rows := tables(h)["secrets"]; !strings.Contains(rows, "#responses[1]") || strings.Contains(rows, "#responses[0]") {
		t.Errorf("there is %q", rows)
	}
	if where := files(h, secretForms()); len(where) > 0 {
		t.Errorf("the secret stands in %v", where)
	}
	controlRun(h, run.RunID, "enough")
	h.Ended(run.RunID)
	if rows := tables(h)["secrets"]; rows != "" {
		t.Errorf("when the run is over there is %q", rows)
	}
}

func TestASecretOfAShapeOfItsOwnIsRecorded(t *testing.T) {
	t.Parallel()
	h := apptest.Start(t, apptest.WithRules(`{match: bash(printenv GITHUB_TOKEN), decision: allow}`),
		apptest.WithModel(apptest.Turns(apptest.Calls("bash", `{"command":"printenv GITHUB_TOKEN"}`))), withConfig(needsToken))
	run := h.Begin("go")
	h.Answer(h.Waits(run.RunID, 1)[0].ID, map[string]any{"option_id": "provide", "data": map[string]string{"GITHUB_TOKEN": "ghp_0123456789"}})
	completes(h, run.RunID)
	if got := lastResult(t, h.Events(run.RunID)); got.Content != "[secret removed]\n" && got.Content != "[secret removed]" {
		t.Errorf("the model got %q", got.Content)
	}
	events := h.Closed(run.Workflow)
	keep(t, "secret_provided", events)
	replay(t, events)
}

// A worker without a key, as outside of dev: nobody is asked what nobody could keep.
func TestWithoutAKeyNobodyIsAskedForASecret(t *testing.T) {
	t.Parallel()
	c := newCrash(t, workerAlone, "turns:\n  - calls: [{name: bash, args: {command: printenv GITHUB_TOKEN}}]\n  - say: \"It said: {{result}}\"\n",
		`{match: bash(printenv GITHUB_TOKEN), decision: allow}`)
	withConfig(needsToken)(&c.o)
	c.start()
	run := c.begin("go")
	c.completes(run.RunID, "a component of type secrets with key", 0)
	if asked := eventsOf[interaction.Request](c.Holdpoint, run.RunID, event.InteractionRequest); len(asked) != 0 {
		t.Errorf("it asked %+v", asked)
	}
}
