package app_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"syscall"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
)

// noteWeight is a file in a process's notes: a weight for each time it was asked.
const noteWeight = "weight"

// weight is what a process holds once its garbage is collected.
type weight struct {
	Memory     int64 `json:"memory"` // bytes of heap and stacks
	Goroutines int   `json:"goroutines"`
}

// weigh notes what this process holds whenever it is asked to by a signal.
func (v victim) weigh() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1)
	for range asked {
		line, err := json.Marshal(weight{Memory: keptMemory(), Goroutines: runtime.NumGoroutine()})
		if err == nil {
			err = note(v.Notes, noteWeight, string(line))
		}
		if err != nil {
			panic(err)
		}
	}
}

// weigh asks a process for what it holds.
func (m *member) weigh(c *cluster) (w weight) {
	c.t.Helper()
	path := filepath.Join(m.notes, noteWeight)
	before, _ := os.ReadFile(path) // there is none at first
	c.must(m.cmd.Process.Signal(syscall.SIGUSR1))
	c.patience.Eventually("a process to say what it holds", func() bool {
		text, err := os.ReadFile(path)
		return err == nil && len(text) > len(before) && json.Unmarshal(text[len(before):], &w) == nil
	})
	return w
}

// runBare serves the bare workflow until the parent has ended.
func (v victim) runBare() error {
	c, err := client.Dial(envconfig.MustLoadDefaultClientOptions())
	if err != nil {
		return err
	}
	defer c.Close()
	x := &plainGate{client: c, queue: bareQueue(v.TaskQueue)}
	w, err := x.serve()
	if err != nil {
		return err
	}
	defer w.Stop()
	if err := note(v.Notes, fmt.Sprint(noteReady, os.Getpid()), "at nothing"); err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// bareQueue is beside a cluster's own queue.
func bareQueue(queue string) string { return queue + "-bare" }

// parkBare starts bare workflows and waits until each waits for its answer.
func (c *cluster) parkBare(ctx context.Context, from, to int) {
	c.t.Helper()
	cl, err := client.Dial(client.Options{HostPort: c.temporal})
	c.must(err)
	defer cl.Close()
	atOnce(to-from, 20, func(i int) {
		id := fmt.Sprintf("bare-%s-%d", c.o.TaskQueue, from+i)
		_, err := cl.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: bareQueue(c.o.TaskQueue)}, "Bare", id)
		c.must(err)
		c.patience.Eventually("a bare workflow to wait", func() bool {
			d, err := cl.DescribeWorkflow(ctx, id, "")
			return err == nil && d.RawResponse.GetWorkflowExecutionInfo().GetHistoryLength() >= 11 // its timer is started
		})
	})
}

// endBare ends what was parked.
func (c *cluster) endBare(ctx context.Context, n int) {
	c.t.Helper()
	cl, err := client.Dial(client.Options{HostPort: c.temporal})
	c.must(err)
	defer cl.Close()
	atOnce(n, 20, func(i int) {
		c.must(cl.TerminateWorkflow(ctx, fmt.Sprintf("bare-%s-%d", c.o.TaskQueue, i), "", "weighed"))
	})
}
