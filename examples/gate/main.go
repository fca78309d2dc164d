package main

import (
	"context"
	"fmt"
	"log"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/worker"
)

const queue = "holdpoint-example-gate"

// main runs Deploy to its end, with the connection that the TEMPORAL_* variables name, and says how to answer.
func main() {
	c, err := connect()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	w := worker.New(c, queue, worker.Options{})
	w.RegisterWorkflow(Deploy)
	if err := w.Start(); err != nil {
		log.Fatal(err)
	}
	defer w.Stop()
	run, err := c.ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{ID: "deploy-1", TaskQueue: queue}, Deploy, "v1.2.3")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("It waits for two people. Each of them answers so:")
	fmt.Println(`  temporal workflow signal --workflow-id deploy-1 --name respond --input '{"request_id": "deploy-1-1-1-1", "action": "approve", "reviewer": {"id": "alice", "groups": ["release"]}}'`)
	var done string
	if err := run.Get(context.Background(), &done); err != nil {
		log.Fatal(err)
	}
	fmt.Println(done)
}

// connect takes the settings of the TEMPORAL_* variables and the profile file. A key of the file that is misspelt is refused: it
// would leave another namespace, or no TLS, in force.
func connect() (client.Client, error) {
	settings, err := envconfig.LoadClientOptions(envconfig.LoadClientOptionsRequest{ConfigFileStrict: true})
	if err != nil {
		return nil, err
	}
	return client.Dial(settings)
}
