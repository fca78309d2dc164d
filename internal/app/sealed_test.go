package app_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/internal/seal"
	"holdpoint/llm"
)

// sealedBy has a Holdpoint find these keys.
func sealedBy(keys string) apptest.Setup {
	return func(o *app.Options) {
		o.Getenv = func(name string) (string, bool) { return keys, name == seal.EnvKeys }
	}
}

// inClear returns those words that Temporal's history of a run has, whatever encodes them.
func inClear(t *testing.T, h *apptest.Holdpoint, workflow string, words ...string) (found []string) {
	t.Helper()
	var all []byte
	for _, e := range h.History(workflow, "") {
		b, err := proto.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	for _, w := range words {
		if bytes.Contains(all, []byte(w)) {
			found = append(found, w)
		}
	}
	return found
}

func TestWhatTemporalKeepsIsSealed(t *testing.T) {
	t.Parallel()
	done := &counter{}
	old, next := seal.NewKey("k1"), seal.NewKey("k2")
	h := apptest.Start(t, withEffect(apptest.Effect{Log: done.log}), sealedBy(old),
		apptest.WithModel(&brokenModel{first: apptest.Calls("effect", `{"n":71077345}`), then: "quota of tenant walrus"}))
	run := h.Begin("tell the otter")
	id := h.Waits(run.RunID, 1)[0].ID
	h.App.Close()

	o := h.Options
	sealedBy(next + "," + old)(&o)
	h = apptest.Run(t, o) // with a new key: what the old one sealed is read all the same
	h.Answer(id, by("alice", map[string]any{"action": "approve", "note": "ask the badger"}))
	if end := h.Ended(run.RunID); end.Status != "failed" || !strings.Contains(string(end.Error), "walrus") || done.count() != 1 {
		t.Fatalf("the run ended %s (%s) after %d effects", end.Status, end.Error, done.count())
	}
	h.Closed(run.Workflow)
	if found := inClear(t, h, run.Workflow, "otter", "badger", "walrus", "71077345", "alice", "tester", `"action"`); found != nil {
		t.Errorf("Temporal has in clear: %q", found)
	}
	if found := inClear(t, h, run.Workflow, "k1", "k2"); len(found) != 2 {
		t.Errorf("of both keys the history names %q", found)
	}
}

func TestTheCodecShowsWhatIsSealedToAdmins(t *testing.T) {
	t.Parallel()
	keys := seal.NewKey("k1")
	h := apptest.Start(t, sealedBy(keys), apptest.WithModel(apptest.Turns()))
	run := h.Begin("tell the otter")
	h.Ended(run.RunID)
	o := app.Options{Data: t.TempDir(), Listen: "127.0.0.1:0", Token: "a-token-for-tests-only"}
	sealedBy(keys)(&o)
	codec, err := app.Codec(context.Background(), o, []string{"http://ui.example"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = codec.Close() })
	show := func(auth string) string {
		bin, err := filepath.Abs("../../bin/temporal")
		if err != nil {
			t.Fatal(err)
		}
		out, _ := exec.Command(bin, "workflow", "show", "--address", h.TemporalAddress(), "-w", run.Workflow, "--output", "json",
			"--codec-endpoint", codec.URL(), "--codec-auth", auth).CombinedOutput() // refused, it shows what is sealed, or fails
		text := ""
		for _, m := range regexp.MustCompile(`"data": "([A-Za-z0-9+/=]+)"`).FindAllSubmatch(out, -1) {
			b, err := base64.StdEncoding.DecodeString(string(m[1]))
			if err != nil {
				t.Fatal(err)
			}
			text += string(b) + "\n"
		}
		return text
	}
	if !strings.Contains(show("Bearer a-token-for-tests-only"), "otter") {
		t.Error("an admin does not see what was sealed")
	}
	if strings.Contains(show("Bearer another-token"), "otter") {
		t.Error("a stranger sees what was sealed")
	}
	for origin, want := range map[string]int{"http://ui.example": http.StatusNoContent, "http://evil.example": http.StatusForbidden} {
		req, err := http.NewRequest(http.MethodOptions, codec.URL()+"/decode", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Origin", origin)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("a page of %s gets %d, not %d", origin, resp.StatusCode, want)
		}
	}
}

func TestASealedRunReplays(t *testing.T) {
	t.Parallel()
	keys := seal.NewKey("k1")
	h := apptest.Start(t, sealedBy(keys), apptest.WithModel(apptest.Turns()))
	run := h.Begin("go")
	h.Ended(run.RunID)
	b, err := protojson.Marshal(&history.History{Events: h.Closed(run.Workflow)})
	file := filepath.Join(t.TempDir(), "h.json")
	if err == nil {
		err = os.WriteFile(file, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for text, ok := range map[string]bool{keys: true, seal.NewKey("k1"): false} {
		o := app.Options{}
		sealedBy(text)(&o)
		err := app.ReplayFiles(context.Background(), o.Getenv, []string{file}, func(r app.Replayed) {
			if (r.Err == nil) != ok {
				t.Errorf("with the key %v: %v", ok, r.Err)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// brokenModel answers once and fails then, with words that nobody else should see.
type brokenModel struct {
	first  llm.Message
	then   string
	called atomic.Bool
}

func (m *brokenModel) Generate(context.Context, llm.Request) (llm.Reply, error) {
	if m.called.Swap(true) {
		return llm.Reply{}, &llm.Error{Kind: llm.ErrBadRequest, Message: m.then}
	}
	return llm.Reply{Message: m.first}, nil
}
