package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/uuid"

	"holdpoint/api"
	"holdpoint/interaction"
)

// batched are the actions that say the same of every interaction, and so may answer several at once.
var batched = []interaction.Action{interaction.ActionApprove, interaction.ActionReject, interaction.ActionRetry,
	interaction.ActionSkip, interaction.ActionTerminate}

// batchResult is what became of one answer of a batch.
type batchResult struct {
	api.AnsweredItem
	Title   string `json:"title"`
	LeftOut string `json:"left_out,omitempty"` // why it was not answered at all
}

// leftOut says why an interaction can't be answered by a word in a batch, or puts the answer on resp. What is marked
// dangerous is only meant by its option's own word, and an approval of it by none that approves others as well.
func leftOut(it api.Interaction, word string, resp *interaction.Response) string {
	if it.Status != interaction.StatusPending {
		return "it is " + string(it.Status)
	}
	if it.Settled() {
		return "it is decided, and carried out as soon as its run goes on"
	}
	var fits []interaction.Option
	for _, o := range it.Options {
		if o.ID == word {
			fits = []interaction.Option{o}
			break
		}
		if string(o.Action) == word {
			fits = append(fits, o)
		}
	}
	switch {
	case len(fits) == 0:
		return "it does not offer " + word
	case len(fits) > 1:
		return word + " may mean several of its options: answer it alone"
	}
	o := fits[0]
	switch {
	case o.Dangerous && (o.ID != word || word == string(interaction.ActionApprove)):
		return fmt.Sprintf("its option %q is marked dangerous: answer it alone", o.ID)
	case !slices.Contains(batched, o.Action):
		return word + " is an answer to one question: answer it alone"
	case o.RequiresInput && resp.Feedback == "":
		return word + " needs words: answer it alone"
	}
	resp.RequestID, resp.Digest, resp.Action, resp.OptionID = it.ID, it.Digest, o.Action, o.ID
	resp.ID = interaction.ResponseID(uuid.New().String())
	return ""
}

// respondMany answers several interactions by one word.
func (c *cli) respondMany(ctx context.Context, cl *client, r *remote, refs []string, word string, f answerFlags, resp interaction.Response) error {
	list, err := cl.several(ctx, f.run, refs)
	if err != nil {
		return err
	}
	if len(list) == 0 {
		return fmt.Errorf("nothing of run %s waits for a person", f.run)
	}
	if f.run != "" && c.asks && !f.json {
		sure, err := c.sure(ctx, list, word, resp)
		if err != nil || !sure {
			return err
		}
	}
	results, err := cl.answerAll(ctx, list, word, resp)
	if err != nil && len(results) == 0 {
		return err
	}
	if f.json {
		if jsonErr := c.printJSON(struct {
			Items []batchResult `json:"items"`
		}{results}); jsonErr != nil {
			return jsonErr
		}
	} else {
		c.batchLines(results, word)
	}
	if err != nil {
		return err
	}
	if n := refused(results); n > 0 {
		return fmt.Errorf("%d of %d were not answered; %s inbox%s lists what still waits", n, len(results), c.name, r.typed())
	}
	return nil
}

// several finds what a batch is about: all that waits in a run, or each of the refs, once.
func (cl *client) several(ctx context.Context, run string, refs []string) ([]api.Interaction, error) {
	if run != "" {
		found, err := cl.findRun(ctx, run)
		if err != nil {
			return nil, err
		}
		list, more, err := cl.waiting(ctx, found.ID)
		if err == nil && more {
			err = fmt.Errorf("run %s has more waiting than can be listed: answer some by their ids first", found.ID)
		}
		return list, err
	}
	var list []api.Interaction
	for _, ref := range refs {
		it, err := cl.find(ctx, ref, true)
		if err != nil {
			return nil, fmt.Errorf("%w (nothing was answered)", err)
		}
		if !slices.ContainsFunc(list, func(o api.Interaction) bool { return o.ID == it.ID }) {
			list = append(list, it)
		}
	}
	return list, nil
}

// sure shows each that would be answered and asks at the terminal.
func (c *cli) sure(ctx context.Context, list []api.Interaction, word string, resp interaction.Response) (bool, error) {
	n := c.showAll(list, word, resp)
	if n == 0 {
		return true, nil // each says why it is left out
	}
	asked := c.clock()
	fmt.Fprintf(c.out, "%s ", c.style.bold(fmt.Sprintf("%s these %d? yes, or anything else to leave them:", interaction.Visible(word), n)))
	keys := newKeyboard(ctx, c.in)
	for {
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case l, ok := <-keys.lines:
			if ok && l.at.Before(asked) {
				continue // typed before it could be seen
			}
			if !ok || strings.TrimSpace(l.text) != "yes" {
				fmt.Fprintln(c.out, "Nothing was sent.")
				return false, nil
			}
			return true, nil
		}
	}
}

// showAll shows what a word would answer, whole, and what it leaves out; n is how many it would answer.
func (c *cli) showAll(list []api.Interaction, word string, resp interaction.Response) (n int) {
	for _, it := range list {
		if why := leftOut(it, word, &resp); why != "" {
			c.line(c.out, c.style.yellow("left out:"), shortID(it.ID)+" "+it.Title+": "+why)
			continue
		}
		c.show(c.out, it)
		n++
	}
	return n
}

// answerAll sends one answer to each, in as few requests as the bridge takes. On an error the results so far come
// with it.
func (cl *client) answerAll(ctx context.Context, list []api.Interaction, word string, resp interaction.Response) ([]batchResult, error) {
	results := make([]batchResult, len(list))
	var send []interaction.Response
	var places []int
	for n, it := range list {
		one := resp
		results[n] = batchResult{AnsweredItem: api.AnsweredItem{Answered: api.Answered{InteractionID: it.ID}}, Title: it.Title}
		if results[n].LeftOut = leftOut(it, word, &one); results[n].LeftOut == "" {
			send, places = append(send, one), append(places, n)
		}
	}
	const atOnce = 50 // each is at most 16 KiB of words: well below the bridge's 1 MiB
	for len(send) > 0 {
		k := min(atOnce, len(send))
		var out api.AnsweredBatch
		_, err := cl.do(ctx, call{method: http.MethodPost, path: "/v1/interactions/respond", body: map[string]any{"responses": send[:k]}}, &out)
		if err == nil && len(out.Items) != k {
			err = fmt.Errorf("the bridge answered %d responses with %d results", k, len(out.Items))
		}
		if err != nil {
			for _, n := range places {
				results[n].LeftOut = "it is not known whether the answer arrived: " + err.Error()
			}
			return results, err
		}
		for i, item := range out.Items {
			results[places[i]].AnsweredItem = item
		}
		send, places = send[k:], places[k:]
	}
	return results, nil
}

func refused(results []batchResult) (n int) {
	for _, b := range results {
		if b.LeftOut != "" || b.Problem != nil {
			n++
		}
	}
	return n
}

// batchLines writes a line for each.
func (c *cli) batchLines(results []batchResult, word string) {
	for _, b := range results {
		head, text := c.style.green(interaction.Visible(word)+":"), outcomeText(b.Answered)
		switch {
		case b.LeftOut != "":
			head, text = c.style.yellow("left out:"), b.LeftOut
		case b.Problem != nil:
			head, text = c.style.red("not applied:"), (&refusedError{problem: *b.Problem}).Error()
		}
		c.line(c.out, head, shortID(b.InteractionID)+"  "+b.Title+": "+text)
	}
}
