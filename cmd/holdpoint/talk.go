package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"holdpoint/api"
	"holdpoint/interaction"
)

// talk puts questions to the person at the terminal, one at a time, in the order in which they came.
type talk struct {
	c      *cli
	cl     *client
	r      *remote
	queue  []interaction.ID
	now    *dialog
	asked  time.Time // when now was shown
	silent bool      // the terminal gives no more lines
	keys   *keyboard // lends the terminal to an editor; nil where there is none
	drafts map[interaction.ID]string
}

// ask queues a question.
func (t *talk) ask(ctx context.Context, id interaction.ID) {
	t.queue = append(t.queue, id)
	if t.now == nil {
		t.next(ctx)
	}
}

// closed takes back a question that was answered elsewhere or needs no answer any more.
func (t *talk) closed(ctx context.Context, id interaction.ID) {
	t.queue = slices.DeleteFunc(t.queue, func(q interaction.ID) bool { return q == id })
	if t.now != nil && t.now.it.ID == id {
		fmt.Fprintln(t.c.out, "This is closed now; nothing was sent from here.")
		t.now = nil
		t.next(ctx)
	}
}

// next shows the next question that still waits, whole, and then prompts.
func (t *talk) next(ctx context.Context) {
	for len(t.queue) > 0 && t.now == nil {
		id := t.queue[0]
		t.queue = t.queue[1:]
		it, err := t.cl.interaction(ctx, id)
		if err != nil {
			fmt.Fprintf(t.c.out, "%s can't be shown: %s\n", interaction.Visible(string(id)), interaction.Visible(err.Error()))
			continue
		}
		if it.Status != interaction.StatusPending || it.Settled() {
			continue
		}
		t.open(it)
	}
}

func (t *talk) open(it api.Interaction) {
	fmt.Fprintln(t.c.out, t.c.style.yellow("? the run waits for you"))
	t.c.show(t.c.out, it)
	if t.silent || !askable(it.Request) {
		t.c.respondLines(t.c.out, t.r, it, shortID(it.ID))
		return
	}
	t.now = newDialog(t.c, it)
	t.now.editor = t.keys != nil && t.c.editor() != ""
	t.now.options()
	t.prompt()
}

func (t *talk) prompt() {
	t.asked = t.c.clock() // the question itself stands above by now
	fmt.Fprint(t.c.out, t.c.style.bold(t.now.prompt()+" "))
}

// askable reports whether a question can be answered line by line.
func askable(q interaction.Request) bool {
	return q.Type != interaction.TypeCombined && q.Type != interaction.TypeCustom
}

// line takes a line from the terminal; ok is false at its end.
func (t *talk) line(ctx context.Context, l typedLine, ok bool) {
	if !ok {
		t.silent = true
		if t.now != nil {
			fmt.Fprintln(t.c.out)
			t.c.respondLines(t.c.out, t.r, t.now.it, shortID(t.now.it.ID))
			t.now = nil
		}
		t.next(ctx)
		return
	}
	if t.now == nil || l.at.Before(t.asked) {
		return // typed before the question could be seen
	}
	switch t.now.take(l.text) {
	case verdictMore:
		t.prompt()
	case verdictEdit:
		t.edit(ctx)
	case verdictLater:
		t.c.respondLines(t.c.out, t.r, t.now.it, shortID(t.now.it.ID))
		t.now = nil
		t.next(ctx)
	case verdictSend:
		t.send(ctx)
	}
}

// send answers, and asks again where the answer was refused and the question still waits.
func (t *talk) send(ctx context.Context) {
	resp, it := t.now.resp, t.now.it
	t.now = nil
	resp.RequestID, resp.Digest = it.ID, it.Digest
	out, err := t.cl.respond(ctx, resp)
	if err == nil {
		fmt.Fprintln(t.c.out, outcomeText(out))
		t.next(ctx)
		return
	}
	t.c.line(t.c.out, t.c.style.red("not applied:"), err.Error())
	switch code(err) {
	case api.CodeAlreadyDecided, api.CodeExpired, api.CodeRunEnded:
	default:
		t.queue = slices.Insert(t.queue, 0, it.ID)
	}
	t.next(ctx)
}
