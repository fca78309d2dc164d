package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"golang.org/x/sync/errgroup"

	"holdpoint/interaction"
)

// batchWidth is how many runs of one batch are answered at once.
const batchWidth = 8

func (s *Server) interactionRoutes(h huma.API) {
	register(s, h, operation(h, "list-interactions", http.MethodGet, "/v1/interactions",
		"The inbox: what waits for people and what became of it, newest first", 200, 400, 422), s.listInteractions)
	changes := operation(h, "stream-interactions", http.MethodGet, "/v1/interactions/events",
		"The inbox as it changes; never ends by itself", 200, 404, 422, 503)
	changes.Responses["200"] = eventStream("An interaction event for each that was opened or changed since the stream began, of the " +
		"newest 1,000 that are open; with id, for that one alone.")
	register(s, h, changes, s.inboxEvents)
	register(s, h, operation(h, "get-interaction", http.MethodGet, "/v1/interactions/{id}", "An interaction", 200, 404), s.getInteraction)

	one := operation(h, "respond", http.MethodPost, "/v1/interactions/{id}/respond", "Answer an interaction", 200,
		400, 404, 409, 410, 413, 415, 422, 503)
	one.Description = "With Accept: text/event-stream the answer goes on as the run's event stream, from the answer on " +
		"or after Last-Event-ID."
	body[interaction.Response](h, &one)
	answered := h.OpenAPI().Components.Schemas.Schema(typeOf[Answered](), true, "Answered")
	for status, what := range map[string]string{"200": "Applied", "202": "Stored until the run can take it: no worker has seen it yet, or the run does not know yet that it asks"} {
		one.Responses[status] = eventStream(what)
		one.Responses[status].Content["application/json"] = &huma.MediaType{Schema: answered}
	}
	register(s, h, one, s.respondOne)

	batch := operation(h, "respond-batch", http.MethodPost, "/v1/interactions/respond",
		"Answer several interactions; a result for each, one update for each run", 200, 400, 413, 415)
	body[responses](h, &batch)
	register(s, h, batch, s.respondBatch)
}

// responses is RespondBatch as the API's description shows it.
type responses struct {
	Responses []interaction.Response `json:"responses" maxItems:"100"`
}

// body describes a body that the handler decodes itself, more strictly than huma would.
func body[T any](h huma.API, op *huma.Operation) {
	op.SkipValidateBody = true
	op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{
		"application/json": {Schema: h.OpenAPI().Components.Schemas.Schema(typeOf[T](), true, op.OperationID)}}}
}

type interactionPath struct {
	ID interaction.ID `path:"id" maxLength:"512"`
}

type interactionOutput struct{ Body Interaction }

func (s *Server) getInteraction(ctx context.Context, in *interactionPath) (*interactionOutput, error) {
	i, found, err := s.cfg.Store.Interaction(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	if found {
		p := principal(ctx)
		ok, err := seesInteraction(p, i, s.ownerOf(ctx, p))
		if err != nil {
			return nil, err
		}
		if ok {
			return &interactionOutput{newInteraction(p, i)}, nil
		}
	}
	return nil, noInteraction(in.ID)
}

type respondInput struct {
	ID          interaction.ID `path:"id" maxLength:"512"`
	Accept      string         `header:"Accept"`
	LastEventID string         `header:"Last-Event-ID" maxLength:"20"`
	RawBody     []byte
}

func (s *Server) respondOne(ctx context.Context, in *respondInput) (*huma.StreamResponse, error) {
	r, err := interaction.DecodeResponse(in.RawBody)
	if err != nil {
		return nil, err
	}
	if r.RequestID != "" && r.RequestID != in.ID {
		return nil, problem(http.StatusBadRequest, CodeInvalid, "the body answers %q, the address names %q", r.RequestID, in.ID).
			at("body.request_id", "is not the interaction of the address")
	}
	r.RequestID = in.ID
	a, err := s.prepare(ctx, r)
	if err != nil {
		return nil, err
	}
	if !wantsEvents(in.Accept) {
		out, status, err := s.respond(ctx, a)
		if err != nil {
			return nil, err
		}
		return &huma.StreamResponse{Body: func(hc huma.Context) {
			_, w := humago.Unwrap(hc)
			writeJSON(w, status, "application/json", out)
		}}, nil
	}
	after, err := s.resumeAt(ctx, a.run.ID, in.LastEventID)
	if err != nil {
		return nil, err
	}
	st, err := s.openStream(a.run, after)
	if err != nil {
		return nil, err
	}
	out, status, err := s.respond(ctx, a)
	if err != nil {
		st.release()
		return nil, err
	}
	st.status, st.note = status, out.Status
	return &huma.StreamResponse{Body: st.serve}, nil
}

// wantsEvents reports whether a client asks for an event stream rather than for JSON.
func wantsEvents(accept string) bool {
	for part := range strings.SplitSeq(accept, ",") {
		media, _, _ := strings.Cut(part, ";")
		if strings.EqualFold(strings.TrimSpace(media), "text/event-stream") {
			return true
		}
	}
	return false
}

type batchInput struct{ RawBody []byte }

type batchOutput struct{ Body AnsweredBatch }

// respondBatch answers several. A batch that can't be read is refused whole; of one that can, each response has its
// own result.
func (s *Server) respondBatch(ctx context.Context, in *batchInput) (*batchOutput, error) {
	list, err := interaction.DecodeResponses(in.RawBody)
	if err != nil {
		return nil, err
	}
	items := make([]AnsweredItem, len(list))
	groups := map[string][]int{}
	var order []string
	answers := make([]*answer, len(list))
	ids := map[interaction.ResponseID]bool{}
	for n, r := range list {
		a, err := s.prepareOnce(ctx, ids, r)
		if err != nil {
			p := s.report(ctx, "respond-batch", err)
			items[n] = AnsweredItem{Answered: Answered{ResponseID: r.ID, InteractionID: r.RequestID}, HTTPStatus: p.Status, Problem: p}
			continue
		}
		if a.done != nil {
			items[n] = AnsweredItem{Answered: *a.done, HTTPStatus: http.StatusOK}
			continue
		}
		answers[n] = a
		if groups[a.run.WorkflowID] == nil {
			order = append(order, a.run.WorkflowID)
		}
		groups[a.run.WorkflowID] = append(groups[a.run.WorkflowID], n)
	}
	var g errgroup.Group
	g.SetLimit(batchWidth)
	for _, id := range order {
		g.Go(func() error {
			s.forwardGroup(ctx, groups[id], answers, items)
			return nil
		})
	}
	_ = g.Wait() // results are in items
	for n := range items {
		inBatch(items[n].Problem, n)
	}
	return &batchOutput{AnsweredBatch{items}}, nil
}

func (s *Server) prepareOnce(ctx context.Context, ids map[interaction.ResponseID]bool, r interaction.Response) (*answer, error) {
	if r.ID != "" && ids[r.ID] {
		return nil, &interaction.Error{Code: interaction.CodeInvalid, Field: "id", Message: "comes twice in one batch"}
	}
	ids[r.ID] = true
	return s.prepare(ctx, r)
}

// forwardGroup sends the answers to one run together. If the run refuses them as a whole, each is sent alone, so
// that one bad answer holds up no other.
func (s *Server) forwardGroup(ctx context.Context, places []int, answers []*answer, items []AnsweredItem) {
	group := make([]*answer, len(places))
	sum := sha256.New()
	for i, n := range places {
		group[i] = answers[n]
		fmt.Fprintf(sum, "%s\n", answers[n].response.ID)
	}
	id := string(group[0].response.ID)
	if len(group) > 1 {
		id = "batch:" + hex.EncodeToString(sum.Sum(nil))
	}
	results, err := s.forward(ctx, id, group)
	var e *interaction.Error
	for i, n := range places {
		if len(group) > 1 && errors.As(err, &e) {
			alone, _ := s.forward(ctx, string(group[i].response.ID), group[i:i+1])
			results[i] = alone[0]
		}
		items[n] = results[i]
	}
}

// inBatch points a problem's locations at a batch's response.
func inBatch(p *Problem, n int) {
	if p == nil {
		return
	}
	for i, e := range p.Errors {
		if rest, ok := strings.CutPrefix(e.Location, "body."); ok {
			p.Errors[i].Location = fmt.Sprintf("body.responses[%d].%s", n, rest)
		}
	}
}
