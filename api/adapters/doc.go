// Package adapters speaks the protocols of earlier designs over the bridge, so that their clients work unchanged: tool
// consent (consent.go), interactions with a resumed stream (interactions.go), approvals and control (control.go), a
// WebSocket (socket.go) and ReAct chat (react.go). docs/protocols.md maps every field.
//
// An adapter is a client of the bridge in the same process. It makes the bridge's own calls in the name of whoever sent
// the request, so what it may see and do, and what an answer may leave behind, is decided where it is for everybody.
//
// Start at New and Mount.
package adapters
