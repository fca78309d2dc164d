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
// A write that returned nil survives the death of the process, and of the machine. SQLite runs in WAL mode with
// synchronous=FULL, so each commit reaches the disk before it is reported. NORMAL would be about as safe against a
// killed process, but could lose the last commits when the power fails; among them may be the claim of an
// execution whose effect has already happened, and then the effect would be repeated. With PostgreSQL no commit is
// asynchronous, whatever the database's own setting; its fsync and its replication are the operator's. What a power
// failure can still lose is what was not reported as written, and everything if the disk lies about flushing. A
// database in memory (Driver Memory) is gone when it is closed.
//
// # Several processes
//
// A worker and an HTTP bridge may open the same SQLite file, on one machine (WAL does not work over a network file
// system). Writers take turns; one that can't get its turn within Config.BusyTimeout gets ErrBusy.
//
// Any number of workers and bridges, on any machines, may share a PostgreSQL database, version 13 or newer.
//
//   - Every write is one SERIALIZABLE transaction, and rows that are read to be changed are locked. Sequences,
//     numbers of events and claims are therefore what they would be if all writes came one after the other. Tx.Rules
//     holds the rules besides: a claim never rests on a rule whose revocation was already reported.
//   - A conflict (a serialisation failure, a deadlock, a lock that was not to be had) runs the write again, until
//     Config.BusyTimeout, then ErrBusy.
//   - A connection that is lost before the commit was sent runs the write again too, and a read; a server that stays
//     away for Config.BusyTimeout is ErrUnavailable, and nothing was written.
//   - A commit whose answer is lost is looked up once the server answers again: the write returns nil if it was
//     committed, and runs again if it was not; the server may have crashed in between, or a copy may have taken
//     over. Only where it stays away the error wraps ErrUncertain: written whole, or not at all.
//   - A process that stops in the middle of a transaction holds its rows for a minute at most; the server then ends it.
//
// # Who hears of a change
//
// Watch wakes its callers at once for what this Store commits. PostgreSQL carries wake-ups between processes by
// LISTEN and NOTIFY, within milliseconds, live pieces included; they are sent after the commit, and a wake-up that gets
// lost (a process dies between the two, the listener's connection breaks) is made up for by polling. SQLite has polling
// only. A wake-up is lossy; what it leads to, Events read from an offset, is not.
//
// The listener needs a connection that is its own: a pooler such as PgBouncer must be in session mode.
//
// # What is stored as it is
//
// JSON values (arguments, data, payloads, results) come back byte for byte, so a digest of them keeps holding.
// Text comes back as JSON carries it: bytes that are not UTF-8 are replaced. Nothing is interpreted or escaped: the
// text of models, tools and people is hostile, and whoever shows it must treat it so.
//
// # What is sealed
//
// With Config.Sealing, what people, models and tools said is sealed where a record becomes a column (codec.go), value by
// value, bound to its row; sealed.go lists the columns. Values in clear, and under several keys, stand side by side, and
// Reseal brings them under the newest. A value that can't be opened is an error, never an empty one.
//
// # Dialects
//
// All SQL is written once, with ? for a parameter, for SQLite and PostgreSQL alike. What differs stands in dialect.go
// and pgdialect.go. So do migrations, but for versions 2 and 6, which PostgreSQL alone has: a column of text that an index
// uses is compared byte by byte there, which a later migration must say too (a test tells).
package store
