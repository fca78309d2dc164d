// Package workflows is the deterministic side: the agent run, the gate where it waits for people, one tool
// call, and control. It decides nothing about permission and touches nothing but Temporal's workflow API.
//
// Start at AgentRun; names and message shapes are in names.go and messages.go.
package workflows
