package app

import (
	"errors"
	"fmt"

	"holdpoint/internal/config"
	"holdpoint/workflows"
)

// checkToolsOnly refuses a worker for tools alone without a queue of its own: in that of the agents it would be given what it
// does not do.
func (o Options) checkToolsOnly() error {
	switch {
	case !o.ToolsOnly:
		return nil
	case o.TaskQueue == "":
		return errors.New("a worker for tools alone serves a task queue of its own: name the one that tools have as task_queue, with --task-queue")
	case o.TaskQueue == workflows.DefaultTaskQueue:
		return fmt.Errorf("the task queue %q is that of the agents: a worker for tools alone serves one of its own, which tools name as task_queue", o.TaskQueue)
	case o.Deployment != Deployment{}:
		return errors.New("a worker for tools alone runs no workflows, and is of no deployment: leave --deployment-name and --build-id out")
	case o.StickyCache > 0:
		return errors.New("a worker for tools alone runs no workflows, and keeps none in memory: leave --cache out")
	}
	return nil
}

// checkSharedStore refuses a worker for tools alone that would look into a database of its own: the calls that it runs, and
// the rules, are in that of the other workers.
func checkSharedStore(cfg *config.Config, o Options) error {
	if !o.ToolsOnly {
		return nil
	}
	for _, s := range append(append([]config.Store(nil), cfg.SessionStores...), cfg.PermissionStores...) {
		if s.Type == config.StorePostgres || s.Type == config.StoreSQLite {
			return nil
		}
	}
	return errors.New("a worker for tools alone needs the address of the store that the other workers use: declare it in the configuration, " +
		"as type: session_store with store_type: postgres and its dsn")
}
