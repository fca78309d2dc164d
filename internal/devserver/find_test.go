package devserver_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/internal/devserver"
)

func TestFindTakesTheFirstThatCanRun(t *testing.T) {
	onPath, extra, unfit := t.TempDir(), t.TempDir(), t.TempDir()
	t.Chdir(t.TempDir())
	t.Setenv("PATH", onPath)
	var missing *devserver.NotFoundError
	if _, err := devserver.Find(unfit); !errors.As(err, &missing) || !strings.Contains(err.Error(), "make build") || !strings.Contains(err.Error(), unfit) {
		t.Fatalf("with none anywhere: %v", err)
	}
	want := script(t, onPath, "")
	if got, err := devserver.Find(unfit); err != nil || got != want {
		t.Errorf("on the PATH: %q, %v; want %q", got, err, want)
	}
	want = script(t, extra, "")
	if got, err := devserver.Find(unfit, extra); err != nil || got != want {
		t.Errorf("in a directory that was named: %q, %v; want %q", got, err, want)
	}
	if !filepath.IsAbs(want) {
		t.Errorf("%q is not absolute", want)
	}
}
