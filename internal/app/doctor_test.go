package app

import (
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/taskqueue/v1"
	"google.golang.org/protobuf/types/known/timestamppb"
)

func TestAWorkerThatWasKilledDoesNotCountAsThere(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	ago := func(d time.Duration) *taskqueue.PollerInfo {
		return &taskqueue.PollerInfo{Identity: "1@here", LastAccessTime: timestamppb.New(now.Add(-d))}
	}
	for name, c := range map[string]struct {
		pollers []*taskqueue.PollerInfo
		want    bool
	}{
		"nobody":                         {nil, false},
		"one in the middle of its poll":  {[]*taskqueue.PollerInfo{ago(70 * time.Second)}, true},
		"one that was killed":            {[]*taskqueue.PollerInfo{ago(4 * time.Minute)}, false},
		"one that was killed, and a new": {[]*taskqueue.PollerInfo{ago(4 * time.Minute), ago(time.Second)}, true},
		"one whose clock goes ahead":     {[]*taskqueue.PollerInfo{ago(-time.Second)}, true},
		"one of which no time is known":  {[]*taskqueue.PollerInfo{{Identity: "1@here"}}, true},
	} {
		if got := polled(c.pollers, now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestAWorkerOfToolsTakesNoSettingsOfWorkflows(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]Options{
		"--cache":           {ToolsOnly: true, TaskQueue: "builds", StickyCache: 100},
		"--deployment-name": {ToolsOnly: true, TaskQueue: "builds", Deployment: Deployment{Name: "agents"}},
	} {
		if err := o.checkToolsOnly(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (Options{TaskQueue: "builds", StickyCache: 100}).checkToolsOnly(); err != nil {
		t.Error(err)
	}
}
