package main

import (
	"context"
	"fmt"
	"log"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/worker"

	"holdpoint/workflows"
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
	waits, err := c.QueryWorkflow(context.Background(), run.GetID(), run.GetRunID(), workflows.QueryState)
	if err != nil {
		log.Fatal(err)
	}
	var state workflows.State
	if err := waits.Get(&state); err != nil {
		log.Fatal(err)
	}
	for _, asked := range state.Pending {
		fmt.Println("It waits for two people. Each of them answers so:")
		fmt.Printf("  temporal workflow signal --workflow-id %s --name %s --input '{\"request_id\": %q, \"action\": \"approve\", \"reviewer\": {\"id\": \"alice\", \"groups\": [\"release\"]}}'\n",
			run.GetID(), workflows.MessageRespond, asked.ID)
	}
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
