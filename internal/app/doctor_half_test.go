package app_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"holdpoint/activities"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
)

// TestTheDoctorSaysWhatItCanWhereTheRestIsDown has a database that is down, and then a namespace that is not there. Not parallel:
// the settings of Temporal are those of the process.
func TestTheDoctorSaysWhatItCanWhereTheRestIsDown(t *testing.T) {
	h := apptest.Start(t, apptest.WithModel(absent{}))
	run := h.Begin("go")
	t.Setenv("TEMPORAL_ADDRESS", h.TemporalAddress())
	t.Setenv("TEMPORAL_NAMESPACE", "default")
	config := filepath.Join(t.TempDir(), "store.yaml")
	store := func(text string) {
		if err := os.WriteFile(config, []byte("type: session_store\nname: s\n"+text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	look := func(queue string, in activities.KeepInput) activities.KeepResult {
		res, err := app.Doctor(context.Background(), app.Options{Config: config, Data: t.TempDir(), TaskQueue: queue, KeepGrace: time.Nanosecond}, in)
		if err != nil {
			t.Fatal(err)
		}
		return res
	}
	store("store_type: postgres\ndsn: postgres://nobody@/db?host=" + t.TempDir() + "\n")
	h.Eventually("what fails to be seen without the database", func() bool {
		res := look(h.Options.TaskQueue, activities.KeepInput{Mend: true})
		return kinds(res) == "failing_activity unreachable" && res.Runs == 1 && res.Findings[1].RunID == run.RunID && strings.Contains(res.Findings[1].What, "the model is away")
	})
	res := look("nobodys", activities.KeepInput{})
	if kinds(res) != "no_worker unreachable" || !res.Findings[0].Fault() || !strings.Contains(res.Findings[0].What, "the store can't be reached: ") ||
		!strings.Contains(res.Findings[0].Advice, "Not looked at: the records of runs") {
		t.Errorf("%+v", res)
	}

	store("store_type: sqlite\ndsn: " + filepath.Join(h.Options.Data, "private", "holdpoint.db") + "\n")
	t.Setenv("TEMPORAL_NAMESPACE", "nowhere")
	res = look(h.Options.TaskQueue, activities.KeepInput{Mend: true})
	if kinds(res) != "unreachable" || !strings.Contains(res.Findings[0].What, `no namespace "nowhere"`) || !strings.Contains(res.Findings[0].Advice, "Nothing is mended") {
		t.Errorf("%+v", res)
	}
	if v := h.Show(run.RunID); v.Status != "running" {
		t.Errorf("the run is %s", v.Status)
	}
}
