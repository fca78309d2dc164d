// Gate is a hold point in a workflow that has nothing to do with agents: a deployment that waits for two people of the
// group release. Start at Deploy; main runs it beside a Temporal server.
package main

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"holdpoint/interaction"
	"holdpoint/workflows"
)

// Deploy deploys a version once two people have approved, and says what it did.
func Deploy(ctx workflow.Context, version string) (string, error) {
	gates, err := workflows.NewGates(ctx)
	if err != nil {
		return "", err
	}
	out, err := gates.Ask(ctx, interaction.Request{Title: "Deploy " + version + "?", Reviewers: []string{"group:release"},
		Quorum: 2, ExpiresAt: workflow.Now(ctx).Add(72 * time.Hour)})
	if err != nil {
		return "", err
	}
	done := fmt.Sprintf("%s was not deployed (%s)", version, out.Status)
	if out.Status == interaction.StatusAnswered && out.Action == interaction.ActionApprove {
		done = version + " was deployed" // your activity goes here
	}
	return done, gates.Close(ctx)
}
