package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdpoint/api"
	"holdpoint/interaction"
)

// desk is the inbox at a terminal: a list, and one of it opened at a time. Nothing is answered that was not shown
// whole before.
type desk struct {
	c    *cli
	cl   *client
	r    *remote
	run  interaction.RunID // "" for all
	keys *keyboard
	talk *talk
	list []api.Interaction
}

const deskHelp = `  N or ID             open one: shown whole, with its answers
  approve|reject N…   answer several, or "all", each shown first
  Enter               look again
  q                   leave; what waits goes on waiting`

// inboxDesk lets a person work through what waits.
func (c *cli) inboxDesk(ctx context.Context, cl *client, r *remote, run interaction.RunID) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	keys := newKeyboard(ctx, c.in)
	d := &desk{c: c, cl: cl, r: r, run: run, keys: keys, talk: &talk{c: c, cl: cl, r: r, keys: keys}}
	if err := d.look(ctx); err != nil {
		return err
	}
	if len(d.list) == 0 {
		return nil
	}
	fmt.Fprintln(c.out, c.style.faint(deskHelp))
	for {
		line, ok, err := d.ask(ctx, "Open which? (? for help, q to leave)")
		if err != nil {
			return err
		}
		if !ok {
			fmt.Fprintln(c.out)
			return nil
		}
		leave, err := d.command(ctx, line)
		var ended *exit
		switch {
		case leave, errors.As(err, &ended):
			return err
		case ctx.Err() != nil:
			return &exit{code: exitInterrupted}
		case err != nil: // it may be there again at the next look
			c.line(c.out, c.style.red("not now:"), err.Error())
		}
	}
}

// ask prompts and returns a line that was typed after that; ok is false at the end of input.
func (d *desk) ask(ctx context.Context, prompt string) (line string, ok bool, err error) {
	asked := d.c.clock()
	fmt.Fprint(d.c.out, d.c.style.bold(prompt)+" ")
	for {
		select {
		case <-ctx.Done():
			fmt.Fprintln(d.c.out)
			return "", false, &exit{code: exitInterrupted}
		case l, ok := <-d.keys.lines:
			if ok && l.at.Before(asked) {
				continue // typed before the prompt could be seen
			}
			return strings.TrimSpace(l.text), ok, nil
		}
	}
}

// look lists what waits now.
func (d *desk) look(ctx context.Context) error {
	list, more, err := d.cl.waiting(ctx, d.run)
	if err != nil {
		return err
	}
	d.list = list
	if len(list) == 0 {
		fmt.Fprintln(d.c.out, "Nothing waits for a person.")
		return nil
	}
	d.c.numbered(list)
	if more {
		fmt.Fprintln(d.c.out, "There is more than can be listed; --run shows one run's.")
	}
	return nil
}

// command does what a line says.
func (d *desk) command(ctx context.Context, line string) (leave bool, err error) {
	fields := strings.Fields(line)
	switch {
	case len(fields) == 0:
		return false, d.look(ctx)
	case line == "q" || line == "quit":
		return true, nil
	case line == "?" || line == "help":
		fmt.Fprintln(d.c.out, d.c.style.faint(deskHelp))
		return false, nil
	case len(fields) > 1 && slices.Contains([]string{"approve", "reject", "skip"}, fields[0]):
		return false, d.several(ctx, fields[0], fields[1:])
	case len(fields) > 1:
		d.c.line(d.c.out, "Not understood:", line+" (? lists what there is)")
		return false, nil
	}
	it, ok := d.pick(fields[0])
	if !ok {
		return false, nil
	}
	if err := d.open(ctx, it.ID); err != nil {
		return false, err
	}
	return false, d.look(ctx)
}

// pick finds the one that a number of the list or an id means.
func (d *desk) pick(word string) (api.Interaction, bool) {
	if n, err := strconv.Atoi(word); err == nil && n >= 1 && n <= len(d.list) {
		return d.list[n-1], true
	}
	fits := matching(word, d.list)
	switch len(fits) {
	case 1:
		return fits[0], true
	case 0:
		d.c.line(d.c.out, "Nothing of the list is", word+": type a number or an id of it, or Enter to look again.")
	default:
		fmt.Fprintln(d.c.out, interaction.VisibleLines(ambiguous(word, fits).Error()))
	}
	return api.Interaction{}, false
}

// open shows one and takes its answer.
func (d *desk) open(ctx context.Context, id interaction.ID) error {
	d.talk.ask(ctx, id)
	if d.talk.now == nil {
		it, err := d.cl.interaction(ctx, id)
		if err == nil && (it.Status != interaction.StatusPending || it.Settled()) {
			d.c.show(d.c.out, it)
		}
		return err
	}
	for d.talk.now != nil {
		select {
		case <-ctx.Done():
			fmt.Fprintln(d.c.out)
			return &exit{code: exitInterrupted}
		case l, ok := <-d.keys.lines:
			d.talk.line(ctx, l, ok)
		}
	}
	return nil
}

// several answers several of the list, each shown first.
func (d *desk) several(ctx context.Context, word string, picks []string) error {
	var list []api.Interaction
	if len(picks) == 1 && picks[0] == "all" {
		list = d.list
		picks = nil
	}
	for _, p := range picks {
		it, ok := d.pick(p)
		if !ok {
			return nil
		}
		if !slices.ContainsFunc(list, func(o api.Interaction) bool { return o.ID == it.ID }) {
			list = append(list, it)
		}
	}
	list, err := d.fresh(ctx, list)
	if err != nil {
		return err
	}
	var resp interaction.Response
	n := d.c.showAll(list, word, resp)
	if n == 0 {
		return nil
	}
	if word == string(interaction.ActionReject) {
		reason, ok, err := d.ask(ctx, "Why, for the agents (may be empty):")
		if err != nil || !ok {
			return err
		}
		resp.Feedback = reason
	}
	sure, ok, err := d.ask(ctx, fmt.Sprintf("%s these %d? yes, or anything else to leave them:", word, n))
	if err != nil || !ok {
		return err
	}
	if sure != "yes" {
		fmt.Fprintln(d.c.out, "Nothing was sent.")
		return nil
	}
	results, err := d.cl.answerAll(ctx, list, word, resp)
	d.c.batchLines(results, word)
	if err != nil {
		d.c.line(d.c.out, d.c.style.red("not applied:"), err.Error())
	}
	return d.look(ctx)
}

// fresh reads each again, so that what is shown next is what is asked now.
func (d *desk) fresh(ctx context.Context, list []api.Interaction) ([]api.Interaction, error) {
	var out []api.Interaction
	for _, it := range list {
		now, err := d.cl.interaction(ctx, it.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, now)
	}
	return out, nil
}

// numbered is table with a number before each row.
func (c *cli) numbered(list []api.Interaction) {
	rows := c.rows(list)
	for n := range rows {
		number := ""
		if n > 0 {
			number = strconv.Itoa(n)
		}
		rows[n] = append([]string{number}, rows[n]...)
	}
	c.tableRows(rows, func(n int, text string) string { return c.style.risk(text, list[n].Risk) })
}

// clock is the time by which typed lines are told from those typed ahead: the real one, whatever now is.
func (c *cli) clock() time.Time { return time.Now() }
