// Package layout has no code: its tests hold the tree itself to what was agreed about it. Which package may
// import which (see imports_test.go for the table and its reasons), that every package says what it is, how
// long a file may be, and what no file may contain.
//
// A test here that fails after a change usually means that code is in the wrong place. Move the code; widen
// the table only for a reason that can be written beside it.
package layout
