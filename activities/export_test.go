package activities

import (
	"context"

	"holdpoint/agent"
	"holdpoint/permission"
	"holdpoint/tool"
)

// Decider reads the rules once and returns a function that judges by them, for measuring.
func Decider(a *Activities, run agent.Run, ag agent.Agent, def tool.Definition) func(args []byte) permission.Decision {
	var in inForce
	err := a.Store.Write(context.Background(), func(tx Tx) (err error) {
		in, err = a.rulesFor(context.Background(), tx, run, ag)
		return err
	})
	if err != nil {
		panic(err)
	}
	return func(args []byte) permission.Decision { return a.judge(in, run, ag, def, args) }
}
