package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/google/uuid"

	"holdpoint/api"
	"holdpoint/interaction"
)

// maxPages bounds how much of a list is read.
const maxPages = 50

// interactions reads a filtered list whole, newest first. more says that it was too long for that.
func (cl *client) interactions(ctx context.Context, status interaction.Status, run interaction.RunID) (list []api.Interaction, more bool, err error) {
	q := url.Values{"page_size": {"100"}}
	if status != "" {
		q.Set("status", string(status))
	}
	if run != "" {
		q.Set("run_id", string(run))
	}
	for range maxPages {
		var page api.InteractionList
		if _, err := cl.do(ctx, call{method: http.MethodGet, path: "/v1/interactions", query: q}, &page); err != nil {
			return nil, false, err
		}
		list = append(list, page.Items...)
		if page.NextPageToken == "" {
			return list, false, nil
		}
		q.Set("page_token", page.NextPageToken)
	}
	return list, true, nil
}

// waiting lists what waits, oldest first.
func (cl *client) waiting(ctx context.Context, run interaction.RunID) ([]api.Interaction, bool, error) {
	list, more, err := cl.interactions(ctx, interaction.StatusPending, run)
	if err != nil {
		return nil, false, err
	}
	held, moreHeld, err := cl.interactions(ctx, interaction.StatusHeld, run)
	if err != nil {
		return nil, false, err
	}
	list = append(list, held...)
	slices.SortStableFunc(list, func(a, b api.Interaction) int {
		if n := a.CreatedAt.Compare(b.CreatedAt); n != 0 {
			return n
		}
		return compareIDs(a.ID, b.ID)
	})
	return list, more || moreHeld, nil
}

// interaction reads one.
func (cl *client) interaction(ctx context.Context, id interaction.ID) (api.Interaction, error) {
	var it api.Interaction
	_, err := cl.do(ctx, call{method: http.MethodGet, path: "/v1/interactions/" + url.PathEscape(string(id))}, &it)
	if err == nil && it.ID != id {
		err = fmt.Errorf("the bridge answered with interaction %q where %q was asked for", it.ID, id)
	}
	return it, err
}

// respond answers. It gives the response an id unless it has one, so that sending it again is harmless.
func (cl *client) respond(ctx context.Context, r interaction.Response) (api.Answered, error) {
	if r.ID == "" {
		r.ID = interaction.ResponseID(uuid.New().String())
	}
	var out api.Answered
	_, err := cl.do(ctx, call{method: http.MethodPost, path: "/v1/interactions/" + url.PathEscape(string(r.RequestID)) + "/respond", body: r}, &out)
	return out, err
}

// start begins a run; the same key starts one run, however often it is sent.
func (cl *client) start(ctx context.Context, b api.StartRun, key string) (api.StartedRun, error) {
	var out api.StartedRun
	_, err := cl.do(ctx, call{method: http.MethodPost, path: "/v1/runs", body: b, header: map[string]string{"Idempotency-Key": key}}, &out)
	return out, err
}
