package activities

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"

	"holdpoint/interaction"
	"holdpoint/permission"
	"holdpoint/tool"
)

// callKey is the same for calls of one tool with the same canonical arguments; "" for arguments that have no canonical
// form, which are the same as no others. in narrows where calls count as the same.
func callKey(name string, args []byte, in ...string) string {
	canon, ok := permission.CanonicalArgs(args)
	if !ok {
		return ""
	}
	h := sha256.New()
	for _, part := range append([]string{name, canon}, in...) {
		var n [8]byte
		binary.BigEndian.PutUint64(n[:], uint64(len(part)))
		h.Write(n[:])
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// remember keeps what a person answered, where that bears on the same call made again in this run.
func remember(ctx context.Context, tx Tx, rec tool.Record, out interaction.Outcome) error {
	key := callKey(rec.Call.Name, rec.Call.Args)
	if key == "" || out.Status != interaction.StatusAnswered || len(out.Responses) == 0 {
		return nil
	}
	last := out.Responses[len(out.Responses)-1]
	m := tool.Memory{CallID: rec.Call.ID, Interaction: out.InteractionID, By: last.Reviewer.ID, Reason: last.Feedback}
	if m.Reason == "" {
		m.Reason = last.Note
	}
	switch out.Action {
	case interaction.ActionReject:
		m.Answered = tool.AnsweredRejected
	case interaction.ActionModifyArgs:
		m.Answered = tool.AnsweredEdited
	default:
		return nil
	}
	return tx.Remember(ctx, rec.Call.RunID, key, m)
}

// rejectedBefore closes a call that a person rejected earlier in the run, without asking again. With the last repeat
// that is borne the run stops.
func (w *turnWriter) rejectedBefore(key string, m tool.Memory) (*tool.Result, error) {
	m.Repeats++
	if err := w.tx.Remember(w.ctx, w.in.RunID, key, m); err != nil {
		return nil, err
	}
	by := named(interaction.Response{Reviewer: interaction.Principal{ID: m.By}})
	if m.Repeats >= tool.MaxRepeats {
		w.stop = &Stopped{Code: CodeRejectedRepeatedly, Message: clip(fmt.Sprintf("the model made a call %d more times that a reviewer%s "+
			"rejected at interaction %s", m.Repeats, by, m.Interaction), 1000)}
	}
	return &tool.Result{Status: tool.StatusRejected, Content: sentence("A reviewer"+by+" rejected this same call before. It was not run, and "+
		"nobody was asked again. Do something else, or tell the user what you would need.", "The reason was", m.Reason)}, nil
}

// recall is what the run remembers of a call; found is false where it must be treated as new.
func (w *turnWriter) recall(c taken) (key string, m tool.Memory, found bool, err error) {
	if key = callKey(c.call.Name, c.call.Args); key == "" {
		return key, m, false, nil
	}
	m, found, err = w.tx.Memory(w.ctx, w.in.RunID, key)
	return key, m, found, err
}
