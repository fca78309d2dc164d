package app

import (
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/deployment/v1"
	"go.temporal.io/api/enums/v1"
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

func TestWorkersThatGetNothingDoNotCountAsThere(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	of := func(build string) *taskqueue.PollerInfo {
		p := &taskqueue.PollerInfo{LastAccessTime: timestamppb.New(now)}
		if build != "" {
			p.DeploymentOptions = &deployment.WorkerDeploymentOptions{DeploymentName: "agents", BuildId: build, WorkerVersioningMode: enums.WORKER_VERSIONING_MODE_VERSIONED}
		}
		return p
	}
	gone := of("v1")
	gone.LastAccessTime = timestamppb.New(now.Add(-4 * time.Minute))
	current := &deployment.WorkerDeploymentVersion{DeploymentName: "agents", BuildId: "v1"}
	for name, c := range map[string]struct {
		pollers []*taskqueue.PollerInfo
		current *deployment.WorkerDeploymentVersion
		want    string
	}{
		"nobody":                            {nil, current, "no worker polls"},
		"of the version that is current":    {[]*taskqueue.PollerInfo{of("v2"), of("v1")}, current, ""},
		"of another version":                {[]*taskqueue.PollerInfo{of("v2")}, current, "no worker of version v1 of the Worker Deployment agents"},
		"of it and killed, and another":     {[]*taskqueue.PollerInfo{gone, of("v2")}, current, "no worker of version v1"},
		"of none, where one is current":     {[]*taskqueue.PollerInfo{of("")}, current, "no worker of version v1"},
		"of a version, where none is":       {[]*taskqueue.PollerInfo{of("v1")}, nil, "none of which is current"},
		"of none, where none is":            {[]*taskqueue.PollerInfo{of("")}, nil, ""},
		"of none and one, where none is":    {[]*taskqueue.PollerInfo{of("v1"), of("")}, nil, ""},
		"of the same build of another name": {[]*taskqueue.PollerInfo{of("v1")}, &deployment.WorkerDeploymentVersion{DeploymentName: "tools", BuildId: "v1"}, "Deployment tools"},
	} {
		if got := unpolled("q", c.pollers, c.current, now); (got.Kind == "") != (c.want == "") || !strings.Contains(got.What, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestRunsArePinnedToAVersionThatNobodyIsOf(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	of := func(build string, ago time.Duration) *taskqueue.PollerInfo {
		return &taskqueue.PollerInfo{LastAccessTime: timestamppb.New(now.Add(-ago)), DeploymentOptions: &deployment.WorkerDeploymentOptions{DeploymentName: "agents", BuildId: build}}
	}
	for name, c := range map[string]struct {
		pinned  pinnedTo
		pollers []*taskqueue.PollerInfo
		want    string
	}{
		"nobody":                     {pinnedTo{"agents:v1", 1, "session-a"}, nil, "1 open workflow is pinned to version agents:v1 of a Worker Deployment, such as session-a"},
		"of another version":         {pinnedTo{"agents:v1", 2, "session-a"}, []*taskqueue.PollerInfo{of("v2", 0), {}}, "2 open workflows are pinned to version agents:v1"},
		"of it, and killed":          {pinnedTo{"agents:v1", 1, "session-a"}, []*taskqueue.PollerInfo{of("v1", 4*time.Minute), of("v2", 0)}, "no worker of that version"},
		"of it":                      {pinnedTo{"agents:v1", 1, "session-a"}, []*taskqueue.PollerInfo{of("v2", 0), of("v1", time.Minute)}, ""},
		"of it, as others write it":  {pinnedTo{"agents.v1", 1, "session-a"}, []*taskqueue.PollerInfo{of("v1", 0)}, ""},
		"of a build that has colons": {pinnedTo{"agents:v:1", 1, "session-a"}, []*taskqueue.PollerInfo{of("v:1", 0)}, ""},
	} {
		if got := unmanned("q", c.pinned, c.pollers, now); (got.Kind == "") != (c.want == "") || !strings.Contains(got.What, c.want) {
			t.Errorf("%s: %+v", name, got)
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
