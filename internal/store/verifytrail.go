package store

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"holdpoint/event"
	"holdpoint/interaction"
)

// trail is what a chain says of its questions. The audit trail and the inbox are read from rows beside it, which are held
// against that: a name that is changed there is in no chain.
type trail struct {
	asked  map[interaction.ID]question
	ended  map[interaction.ID]ending
	erased bool // an event that may have said something of a question says nothing any more
}

// question is what was asked, and ending what became of it, by the event of that number.
type (
	question struct {
		number int64
		interaction.Request
	}
	ending struct {
		number int64
		event.InteractionResponseData
	}
)

// take takes in what the next events say. What can't be read says nothing: its hash holds.
func (t *trail) take(events []event.Event) {
	for _, e := range events {
		if e.Type != event.InteractionRequest && e.Type != event.InteractionResponse {
			continue
		}
		if e.Erased() {
			t.erased = true
			continue
		}
		if e.Type == event.InteractionRequest {
			q := question{number: e.Number}
			if _, again := t.asked[q.ID]; json.Unmarshal(e.Payload, &q.Request) == nil && !again {
				t.asked[q.ID] = q
			}
			continue
		}
		d := ending{number: e.Number}
		if json.Unmarshal(e.Payload, &d.InteractionResponseData) == nil && d.Status.Final() {
			t.ended[d.InteractionID] = d
		}
	}
}

// holds compares the rows of a run, and of those that it called, with what the chain says of them.
func (t *trail) holds(ctx context.Context, q queries, run interaction.RunID) error {
	rows, err := all(ctx, q, itemOfInteraction(q), `SELECT created_at, id, body FROM interactions WHERE run_id IN
		(SELECT id FROM runs WHERE id = ? OR root_id = ?) ORDER BY created_at, id`, run, run)
	if err != nil {
		return err
	}
	there := map[interaction.ID]bool{}
	for _, row := range rows {
		id := interaction.ID(row.id)
		there[id] = true
		if err := t.question(id, row.value); err != nil {
			return err
		}
		if err := t.ending(id, row.value); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(t.asked)) {
		if !there[id] {
			return fmt.Errorf("%w: question %s, which event %d asked, was removed", ErrTampered, id, t.asked[id].number)
		}
	}
	return nil
}

// question compares what was asked, as far as nothing changes it while it waits.
func (t *trail) question(id interaction.ID, row interaction.Interaction) error {
	q, asked := t.asked[id]
	if !asked {
		return nil // its end is looked for
	}
	was, is := q.Request.WithoutOutput(), row.Request.WithoutOutput()
	for _, part := range []struct {
		name string
		same bool
	}{
		{"id", was.ID == is.ID}, {"run", was.RunID == is.RunID}, {"tool", was.ToolName == is.ToolName && was.ToolCallID == is.ToolCallID},
		{"arguments", sameJSON(was.ToolArgs, is.ToolArgs)}, {"digest", was.Digest == is.Digest}, {"title", was.Title == is.Title},
		{"requester", was.Requester == is.Requester}, {"rule", was.MatchedRule == is.MatchedRule && was.Reason == is.Reason}, {"risk", was.Risk == is.Risk},
		{"quorum", was.QuorumNeeded() == is.QuorumNeeded()}, {"time", was.CreatedAt.Equal(is.CreatedAt)},
	} {
		if !part.same {
			return fmt.Errorf("%w: question %s was changed: its %s is not what event %d asked", ErrTampered, id, part.name, q.number)
		}
	}
	return nil
}

// ending compares what became of a question, and who decided it.
func (t *trail) ending(id interaction.ID, row interaction.Interaction) error {
	e, ended := t.ended[id]
	switch {
	case !ended && !row.Status.Final():
		return nil
	case !ended && t.erased:
		return nil
	case !ended:
		return fmt.Errorf("%w: question %s is %s, and no event ended it", ErrTampered, id, row.Status)
	case e.Status != row.Status || e.Action != row.Action || e.Reason != row.Reason:
		return fmt.Errorf("%w: question %s was changed: it is %s %s, and event %d ended it as %s %s", ErrTampered, id, row.Status, row.Action, e.number, e.Status, e.Action)
	case len(e.Responses) != len(row.Responses):
		return fmt.Errorf("%w: question %s was changed: it has %d answers, and event %d has %d", ErrTampered, id, len(row.Responses), e.number, len(e.Responses))
	}
	was, is := interaction.WithoutTexts(e.Responses), interaction.WithoutTexts(row.Responses)
	for n := range was {
		if !reflect.DeepEqual(plain(was[n]), plain(is[n])) {
			return fmt.Errorf("%w: question %s was changed: its answer %q is not what event %d has", ErrTampered, id, is[n].ID, e.number)
		}
	}
	return nil
}

// plain is a response as JSON has it, in which an absent list and an empty one are the same.
func plain(r interaction.Response) (v any) {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return decoded(raw)
}

func sameJSON(a, b []byte) bool {
	return bytes.Equal(a, b) || reflect.DeepEqual(decoded(a), decoded(b))
}

// decoded is a JSON value with its numbers as they are written; text that is none stands for itself.
func decoded(raw []byte) (v any) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return string(raw)
	}
	return v
}
