// Package store keeps what a run leaves behind: runs and the agents they pinned, transcripts, tool calls and
// the ledger of their executions, interactions with their responses, the hash-chained record of events, stored
// rules, and the short-lived pieces of a step that is being written.
//
// It is a projection and a data plane. Temporal holds the truth about every wait; nothing here decides anything.
//
// Start at Open and Store.Write. A Tx has the methods by which activities write; the other methods of Store read,
// or write the little that the HTTP bridge may (responses, rules).
//
// # What survives
//
// A write that returned nil survives the death of the process, and of the machine: SQLite runs in WAL mode with
// synchronous=FULL, so each commit reaches the disk before it is reported. NORMAL would be about as safe against a
// killed process, but could lose the last commits when the power fails; among them may be the claim of an
// execution whose effect has already happened, and then the effect would be repeated. What a power failure can
// still lose is what was not reported as written, and everything if the disk lies about flushing. A database in
// memory (Driver Memory) is gone when it is closed.
//
// # Several processes
//
// A worker and an HTTP bridge may open the same file, on one machine (WAL does not work over a network file
// system). Writers take turns; one that can't get its turn within Config.BusyTimeout gets ErrBusy.
//
// # What is stored as it is
//
// JSON values (arguments, data, payloads, results) come back byte for byte, so a digest of them keeps holding.
// Text comes back as JSON carries it: bytes that are not UTF-8 are replaced. Nothing is interpreted or escaped: the
// text of models, tools and people is hostile, and whoever shows it must treat it so.
//
// # Dialects
//
// All SQL is written once, with ? for a parameter, for SQLite and PostgreSQL alike. What differs stands in dialect.go.
package store
