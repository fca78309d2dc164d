package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"holdpoint/interaction"
)

// closedNames makes version 17 of the schema, which differs in how texts are compared and rows are kept. What a closed
// question is found by is written once, when it closes; the table of the questions itself, which is written more often, has
// no more indices than before. The record and its hash chains have no part in it.
func closedNames(collate, keep string) *goose.Migration {
	return goose.NewGoMigration(17, &goose.GoFunc{RunTx: execAll(fmt.Sprintf(`CREATE TABLE closed_names (
		kind           TEXT %[1]s NOT NULL,
		name           TEXT %[1]s NOT NULL,
		created_at     BIGINT NOT NULL,
		interaction_id TEXT %[1]s NOT NULL,
		closed_at      BIGINT NOT NULL,
		PRIMARY KEY (kind, name, created_at, interaction_id)
	) %[2]s`, collate, keep))}, nil)
}

// The kinds of what a closed question is found by.
const (
	nameAny       = "any" // all of them, under no name
	nameBy        = "by"
	nameRequester = "requester"
	nameAgent     = "agent"
	nameTool      = "tool"
	nameAction    = "action"
	nameRisk      = "risk"
	nameStatus    = "status"
)

// named is one thing that a closed question is found by.
type named struct{ kind, name string }

// newNamed shortens what no index takes. Who reads must look whether it is the right one.
func newNamed[T ~string](kind string, name T) named {
	text := column(name)
	if len(text) > maxIDBytes {
		text = strings.ToValidUTF8(text[:maxIDBytes], "")
	}
	return named{kind, text}
}

func namesOf(i interaction.Interaction) []named {
	q := i.Request
	out := []named{{nameAny, ""}, newNamed(nameStatus, i.Status)}
	for _, n := range []named{newNamed(nameRequester, q.Requester), newNamed(nameTool, q.ToolName), newNamed(nameAction, i.Action), newNamed(nameRisk, q.Risk)} {
		if n.name != "" {
			out = append(out, n)
		}
	}
	for _, a := range q.AgentPath {
		out = append(out, newNamed(nameAgent, a))
	}
	for _, r := range i.Responses {
		out = append(out, newNamed(nameBy, r.Reviewer.ID))
	}
	return out
}

// file writes what a closed question is found by.
func (tx *Tx) file(ctx context.Context, i interaction.Interaction) error {
	names := namesOf(i)
	args := make([]any, 0, 5*len(names))
	for _, n := range names {
		args = append(args, n.kind, n.name, i.Request.CreatedAt.UnixMicro(), i.Request.ID, i.ClosedAt.UnixMicro())
	}
	_, err := tx.exec(ctx, `INSERT INTO closed_names (kind, name, created_at, interaction_id, closed_at) VALUES `+
		rowsOf(len(names), 5)+` ON CONFLICT DO NOTHING`, args...)
	return err
}

// rowsOf are the placeholders of n rows.
func rowsOf(n, columns int) string {
	return strings.Join(slices.Repeat([]string{"(" + marks(columns) + ")"}, n), ", ")
}

// fileBatch is how many questions are filed in one transaction.
const fileBatch = 200

// fileClosed files what is closed and not filed: all, in a database from before version 17, and what an older process has
// closed since another version 17 opened it.
func (s *Store) fileClosed(ctx context.Context) error {
	for after := ""; ; {
		list, err := all(ctx, s.read(), itemOfInteraction(s.read()), `SELECT created_at, id, body FROM interactions AS i
			WHERE status IN (?, ?, ?) AND id > ? AND NOT EXISTS (SELECT 1 FROM closed_names AS n WHERE n.kind = ? AND n.name = ''
				AND n.created_at = i.created_at AND n.interaction_id = i.id) ORDER BY id LIMIT ?`,
			interaction.StatusAnswered, interaction.StatusExpired, interaction.StatusCancelled, after, nameAny, fileBatch)
		if err != nil || len(list) == 0 {
			return in(err, "find the closed questions that are not filed")
		}
		err = s.Write(ctx, func(tx *Tx) error {
			for _, i := range list {
				if err := tx.file(ctx, i.value); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return in(err, "file the closed questions")
		}
		after = list[len(list)-1].id
	}
}

// clockSkew is how much later than its end a question may seem to have been asked, by another machine's clock.
const clockSkew = time.Hour

// ClosedFilter selects questions that have come to their end; an empty field selects all.
type ClosedFilter struct {
	Status                           interaction.Status
	Action                           interaction.Action
	Requester, By, Agent, Tool, Risk string
	Since, Until                     time.Time // closed at or after, and before
	PageSize                         int       // Defaults to 50, at most 200
	PageToken                        string    // of the page before, "" for the first
}

// names are those that all must have, the most telling first: that is the one whose rows are read.
func (f ClosedFilter) names() (out []named) {
	for _, n := range []named{newNamed(nameBy, f.By), newNamed(nameRequester, f.Requester), newNamed(nameAgent, f.Agent), newNamed(nameAction, f.Action),
		newNamed(nameTool, f.Tool), newNamed(nameRisk, f.Risk), newNamed(nameStatus, f.Status)} {
		if n.name != "" {
			out = append(out, n)
		}
	}
	if out == nil {
		out = []named{{nameAny, ""}}
	}
	return out
}

// Closed lists questions that have come to their end, the newest question first, and the token of the next page, "" after
// the last. A name beyond the length of an id is looked for by its beginning.
func (s *Store) Closed(ctx context.Context, f ClosedFilter) ([]interaction.Interaction, string, error) {
	names := f.names()
	key := []string{fmt.Sprint(micros(f.Since).Int64), fmt.Sprint(micros(f.Until).Int64)}
	var w where
	w.add("n.kind = ? AND n.name = ?", names[0].kind, names[0].name)
	for n, m := range names {
		key = append(key, m.kind, m.name)
		if n > 0 {
			w.add(`EXISTS (SELECT 1 FROM closed_names AS m WHERE m.kind = ? AND m.name = ? AND m.created_at = n.created_at
				AND m.interaction_id = n.interaction_id LIMIT 1 OFFSET 0)`, m.kind, m.name) // OFFSET: PostgreSQL looks at each row then, and stops at a full page
		}
	}
	if !f.Since.IsZero() {
		w.add("n.closed_at >= ?", f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		w.add("n.closed_at < ? AND n.created_at < ?", f.Until.UnixMicro(), f.Until.Add(clockSkew).UnixMicro())
	}
	p, err := openPage("closed", f.PageSize, f.PageToken, key...)
	if err != nil {
		return nil, "", err
	}
	if p.started {
		w.add("(n.created_at, n.interaction_id) < (?, ?)", p.at.Number, p.at.ID)
	}
	// A page goes on after what it was sorted by, and not after what the question says now.
	rows, err := all(ctx, s.read(), itemOfInteraction(s.read()), `SELECT n.created_at, i.id, i.body FROM closed_names AS n
		JOIN interactions AS i ON i.id = n.interaction_id`+w.clause()+` ORDER BY n.created_at DESC, n.interaction_id DESC LIMIT ?`,
		append(w.args, p.size+1)...)
	if err != nil {
		return nil, "", in(err, "list closed questions")
	}
	list, next := cut(p, rows)
	return list, next, nil
}
