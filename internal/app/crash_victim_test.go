package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"holdpoint/activities"
	"holdpoint/internal/app"
	"holdpoint/internal/app/apptest"
	"holdpoint/llm"
	"holdpoint/llm/scripted"
	"holdpoint/tool"
)

// envVictim makes the test binary a process to be killed. Its value is a victim as JSON.
const envVictim = "HOLDPOINT_TEST_VICTIM"

// role is what a process runs.
type role string

const (
	wholeDev    role = "dev"    // Temporal server, worker and bridge
	workerAlone role = "worker" // the worker; the server and the bridge are elsewhere
	bridgeAlone role = "bridge" // the bridge; the server and the workers are elsewhere
	toolsAlone  role = "tools"  // a worker for the tools of one task queue
	bareAlone   role = "bare"   // a worker that knows the bare workflow of the benchmarks alone
)

// The points at which a process can be killed: those of the activities, and four more.
const (
	pointEffectBegun    activities.Point = "effect_begun"    // the effect has happened, the tool has not returned
	pointSafeBegun      activities.Point = "safe_begun"      // the same, of the idempotent tool
	pointGlanceBegun    activities.Point = "glance_begun"    // the same, of the quick tool, which runs in a workflow task
	pointResultReported activities.Point = "result_reported" // Temporal has the result, the model is asked again
)

// victim is a process that will be killed, told to it by its environment.
type victim struct {
	Role      role   `json:"role"`
	Config    string `json:"config"`
	Data      string `json:"data"`
	Token     string `json:"token"`
	TaskQueue string `json:"task_queue"`
	Temporal  string `json:"temporal"` // path of the CLI, for dev
	// Notes is a directory for what the process did: effects, model calls, points it came to.
	Notes string `json:"notes"`
	// Points are where it stops, each once, in this order. It stays there until it is killed.
	Points []activities.Point `json:"points,omitempty"`
	// Dies makes it kill itself at its first point, in that very moment.
	Dies bool `json:"dies,omitempty"`
	// Armed is a file without which the points are passed by; "" needs none.
	Armed string `json:"armed,omitempty"`
	// Halting makes the model stop in the middle of its first answer, until noteHeard is there.
	Halting bool `json:"halting,omitempty"`
	// Unasked makes the effect tool one that needs no consent unless a rule says so.
	Unasked bool `json:"unasked,omitempty"`
}

// The files in Notes.
const (
	noteEffects = "effects" // a line for each time a tool's body did its work
	noteModel   = "model"   // a line for each model call
	noteReady   = "ready-"  // and the process id
	noteReached = "reached-"
	noteHeard   = "heard" // a reader has the half of the answer that was written
)

// runVictim runs until it is killed, or until its parent has ended.
func runVictim(spec string) error {
	var v victim
	if err := json.Unmarshal([]byte(spec), &v); err != nil {
		return err
	}
	go v.weigh()
	if v.Role == bareAlone {
		return v.runBare()
	}
	o, err := v.options()
	if err != nil {
		return err
	}
	start := app.Dev
	switch v.Role {
	case workerAlone:
		start = app.Worker
	case toolsAlone:
		start, o.ToolsOnly = app.Worker, true
	case bridgeAlone:
		start = app.API
	case wholeDev, bareAlone:
	}
	a, err := start(context.Background(), o)
	if err != nil {
		return err
	}
	if err := note(v.Notes, fmt.Sprint(noteReady, os.Getpid()), "at "+a.URL()); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, os.Stdin); err != nil { // ends with the test's process
		return err
	}
	return a.Close()
}

// options are what the process, and a bridge beside it, run with.
func (v victim) options() (app.Options, error) {
	script, err := scripted.Load(filepath.Join(filepath.Dir(v.Config), "turns.yaml"))
	if err != nil {
		return app.Options{}, err
	}
	s := &stops{victim: v, left: v.Points}
	glance := s.effect(true, pointGlanceBegun)
	glance.Quick = true
	consent := tool.ConsentAlways
	if v.Unasked {
		consent = tool.ConsentNever
	}
	return app.Options{Config: v.Config, Data: v.Data, Listen: "127.0.0.1:0", Token: v.Token, TaskQueue: v.TaskQueue,
		Temporal: v.Temporal, DynamicConfig: apptest.DynamicConfig(), Faults: s.at,
		Models: map[string]llm.Model{"played": noted{Model: scripted.New(script), stops: s}},
		Tools: []tool.Tool{
			named{Effect: s.effect(false, pointEffectBegun), name: "effect", consent: consent},
			named{Effect: s.effect(true, pointSafeBegun), name: "safe", consent: consent},
			named{Effect: glance, name: "glance", consent: tool.ConsentNever},
		}}, nil
}

// stops are the points that are left to stop at.
type stops struct {
	victim victim
	mu     sync.Mutex
	left   []activities.Point
}

// at stops for good if p is the next of the points.
func (s *stops) at(p activities.Point) {
	s.mu.Lock()
	here := len(s.left) > 0 && s.left[0] == p && s.armed()
	if here {
		s.left = s.left[1:]
	}
	s.mu.Unlock()
	if !here {
		return
	}
	if err := note(s.victim.Notes, noteReached+string(p), "here"); err != nil {
		panic(err)
	}
	if s.victim.Dies {
		self, err := os.FindProcess(os.Getpid())
		if err == nil {
			err = self.Kill()
		}
		if err != nil {
			panic(err)
		}
	}
	select {}
}

func (s *stops) armed() bool {
	if s.victim.Armed == "" {
		return true
	}
	return exists(s.victim.Armed)
}

// effect is a tool whose effect is a line in a file.
func (s *stops) effect(idempotent bool, begun activities.Point) apptest.Effect {
	return apptest.Effect{Idempotent: idempotent,
		Log: func(c tool.Call) {
			line, err := json.Marshal(c)
			if err == nil {
				err = note(s.victim.Notes, noteEffects, string(line))
			}
			if err != nil {
				panic(err)
			}
		},
		Hold: func(context.Context, tool.Call) { s.at(begun) }}
}

// note appends a line to a file that no crash of this process can take away again.
func note(dir, name, line string) error {
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.WriteString(line + "\n"); err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// named gives an effect a name and a default of its own.
type named struct {
	apptest.Effect
	name    string
	consent tool.Consent
}

// Definition implements tool.Tool.
func (n named) Definition() tool.Definition {
	d := n.Effect.Definition()
	d.Name, d.Consent = n.name, n.consent
	return d
}

// noted is a model whose calls are noted. A call that brings a tool's result shows that Temporal has the result.
type noted struct {
	llm.Model
	stops *stops
}

// Generate implements llm.Model.
func (n noted) Generate(ctx context.Context, req llm.Request) (llm.Reply, error) {
	last := req.Messages[len(req.Messages)-1]
	if err := note(n.stops.victim.Notes, noteModel, fmt.Sprintf("%s/%d", req.Messages[0].Content, len(req.Messages))); err != nil {
		return llm.Reply{}, err
	}
	if last.Role == llm.RoleTool {
		n.stops.at(pointResultReported)
	}
	if n.stops.victim.Halting && len(req.Messages) == 1 {
		req.Delta = n.halting(ctx, req.Delta)
	}
	return n.Model.Generate(ctx, req)
}

// halting passes the first piece on, and the others once it was heard.
func (n noted) halting(ctx context.Context, delta func(string)) func(string) {
	first := true
	return func(text string) {
		if !first {
			tick := time.NewTicker(10 * time.Millisecond)
			defer tick.Stop()
			for ctx.Err() == nil && !exists(filepath.Join(n.stops.victim.Notes, noteHeard)) {
				<-tick.C
			}
		}
		first = false
		delta(text)
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
