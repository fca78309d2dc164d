// Package permission decides whether one tool call may run: allow, ask a
// person, or deny.
//
// It is pure. Values go in (compiled rules and one [Call]) and a [Decision]
// with its reasons comes out; nothing is read from disk, the network or the
// clock. Symlinks are resolved through a function the caller supplies and the
// time is an argument, so a decision can be replayed.
//
// The order of strength is fixed and independent of the order of writing:
//
//	deny > policy ask > stored allow (in scope, unexpired) > policy allow >
//	the tool's own default > ask
//
// A stored allow satisfies a policy ask only as far as that ask's max_grant
// permits. Nothing here fails open: what cannot be parsed, resolved or
// decided asks, a malformed deny or ask stops the load, and a malformed allow
// never matches.
//
// What the engine cannot see is said plainly: an interpreter's program, a
// script on disk and an MCP server are opaque, and a deny on a path does not
// reach into them.
//
// Start reading at decide.go for the order of things, shell.go and walker.go
// for command lines, and getopt.go with the opt*.go tables for what options
// of programs do.
package permission
