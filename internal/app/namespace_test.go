package app_test

import (
	"context"
	"strings"
	"testing"

	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
)

// Not parallel: the settings of Temporal are those of the process.
func TestNothingStartsInANamespaceThatIsNotThere(t *testing.T) {
	t.Setenv("TEMPORAL_ADDRESS", apptest.Server(t))
	t.Setenv("TEMPORAL_NAMESPACE", "nowhere")
	for name, start := range map[string]func(context.Context, app.Options) (*app.App, error){"worker": app.Worker, "bridge": app.API} {
		a, err := start(t.Context(), apptest.Options(t, t.TempDir()))
		if err == nil || !strings.Contains(err.Error(), `has no namespace "nowhere": check TEMPORAL_NAMESPACE`) {
			t.Errorf("%s: %v", name, err)
		}
		if a != nil {
			_ = a.Close()
		}
	}
	err := app.ReplayLive(t.Context(), func(string) (string, bool) { return "", false }, "", func(app.Replayed) {})
	if err == nil || !strings.Contains(err.Error(), "TEMPORAL_NAMESPACE") {
		t.Error(err)
	}
}
