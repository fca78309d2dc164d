//go:build !linux

package builtin

import "os"

// showsProcesses is for systems without /proc.
func showsProcesses(*os.File) bool { return false }
