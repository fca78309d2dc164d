// Package web is the inbox in the browser: what waits, exactly what would run, and the answers, beside runs, agents,
// rules and the record. Pages are rendered here and work without scripts as far as seeing, approving and rejecting go;
// htmx and a little script of ours make them live and quick to use by keyboard. Everything is embedded, and a page
// asks no other host for anything.
//
// The package decides nothing about who may do what. A session seals the token that a person signed in with, and every
// page asks the bridge's own handler in the name of that token, in the same process: one way of authorisation, and a
// token that is revoked ends its sessions at once.
//
// Start at New; interaction.go is the page that matters most.
package web
