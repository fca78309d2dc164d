// Package api is the HTTP bridge: runs, their event streams, and the interactions that wait for people, as JSON
// over HTTP, described by OpenAPI 3.1 at /openapi.json. It turns requests into Temporal's start, update and
// signal calls and reads everything it shows through the small interfaces in ports.go; it holds no state of its
// own, so any number of bridges may run side by side.
//
// What it promises:
//
//   - An answer is never lost and never applied twice. It goes out as an update, once more under the same id
//     when nobody took it in time, and at last as a signal, which Temporal keeps until a worker comes (202).
//   - Whether an open interaction is already decided or expired is said by the workflow alone.
//   - An event stream has every stored event once, in order, and can be resumed after any of them; pieces of text
//     that are being written come live and may be missed. A reader that is too slow is cut off.
//   - Every error is application/problem+json with a stable type (problem.go).
//
// Start at Config and New; the bodies that clients send and get are in types.go.
package api
