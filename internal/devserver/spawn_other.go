//go:build !linux

package devserver

import "os/exec"

// spawn starts cmd. Nothing here ends it when this process is killed: only Linux has a way that needs no help
// from the child. After such a kill the next Start on the same file names the process to end.
func spawn(cmd *exec.Cmd) error { return cmd.Start() }
