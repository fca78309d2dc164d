package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// A server may ask people in the middle of a call ("elicitation"). The call is held, its question is put to people as any
// other, and what they say goes back to the server, which then ends the call. Which call a question belongs to is not said
// by the protocol, so it is the one that is under way on the connection: a server that has asked once gets one call for
// each connection from then on.

// The answers of the protocol.
const (
	accepted  = "accept"
	declined  = "decline"
	cancelled = "cancel"
)

const (
	maxAsked    = 20 // questions of one call that its result tells of
	maxAsAgain  = 5  // times that a question is asked again since its answer does not fit
	maxOwnConns = 16 // connections beside the first one of a server
)

// underway is a call, with what its server asked meanwhile.
type underway struct {
	server string
	ask    func(context.Context, interaction.Request) (interaction.Outcome, error)

	mu      sync.Mutex
	told    []string // what was asked, and what became of it
	expired bool
}

type underwayKey struct{}

// elicit answers a question of the server's.
func (c *connection) elicit(ctx context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	c.asks.Store(true)
	u, _ := ctx.Value(underwayKey{}).(*underway) // a question that came as the answer of a call
	if u == nil {
		if u = c.only(r.Params); u == nil {
			return &mcp.ElicitResult{Action: declined}, nil
		}
	}
	return u.put(ctx, r.Params), nil
}

// only is the call under way, if there is one and no other. Where there are several, each is told that the question could
// not be put to anybody.
func (c *connection) only(p *mcp.ElicitParams) *underway {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.calls) == 1 {
		return c.calls[0]
	}
	for _, u := range c.calls {
		u.note(p.Message, "Several calls were under way, and nobody can know which of them it was about, so it was declined. Made again, the call can be asked about")
	}
	return nil
}

// put puts a question to people, again if the answer does not fit, and returns what the server is told.
func (u *underway) put(ctx context.Context, p *mcp.ElicitParams) *mcp.ElicitResult {
	f, err := formOf(u.server, p)
	if err != nil {
		u.note(p.Message, "That could not be put to a person ("+err.Error()+"), so it was declined")
		return &mcp.ElicitResult{Action: declined}
	}
	if u.ask == nil {
		u.note(p.Message, "Nobody can be asked here, so it was declined")
		return &mcp.ElicitResult{Action: declined}
	}
	again := ""
	for range maxAsAgain {
		out, err := u.ask(ctx, f.request(again))
		if err != nil {
			u.note(p.Message, "It was declined: "+interaction.Visible(clip(err.Error(), maxErrorBytes)))
			return &mcp.ElicitResult{Action: declined}
		}
		res, bad := u.answer(f, p, out)
		if bad == nil {
			return res
		}
		again = bad.Error()
	}
	u.note(p.Message, "No answer fitted, so it was declined")
	return &mcp.ElicitResult{Action: declined}
}

// answer is what the server is told of an outcome. The error says why the answer does not fit.
func (u *underway) answer(f form, p *mcp.ElicitParams, out interaction.Outcome) (*mcp.ElicitResult, error) {
	r := interaction.Response{}
	if n := len(out.Responses); n > 0 {
		r = out.Responses[n-1]
	}
	by := "a person"
	if r.Reviewer.ID != "" {
		by = interaction.Visible(string(r.Reviewer.ID))
	}
	switch {
	case out.Status == interaction.StatusExpired:
		u.expire()
		return &mcp.ElicitResult{Action: cancelled}, nil
	case out.Status != interaction.StatusAnswered:
		u.note(p.Message, "The question was withdrawn")
		return &mcp.ElicitResult{Action: cancelled}, nil
	case out.Action == interaction.ActionSkip:
		u.note(p.Message, by+" dismissed it")
		return &mcp.ElicitResult{Action: cancelled}, nil
	case out.Action != interaction.ActionAnswer, len(f.fields) == 0 && (r.Confirmed == nil || !*r.Confirmed):
		why := strings.TrimSpace(r.Feedback + " " + r.Note)
		if why != "" {
			why = ": " + interaction.Visible(clip(why, maxErrorBytes))
		}
		u.note(p.Message, by+" declined it"+why)
		return &mcp.ElicitResult{Action: declined}, nil
	}
	content, err := f.content(r)
	if err != nil {
		return nil, err
	}
	u.note(p.Message, by+" answered it")
	if f.url != "" {
		content = nil
	}
	return &mcp.ElicitResult{Action: accepted, Content: content}, nil
}

func (u *underway) note(question, became string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.told) < maxAsked {
		u.told = append(u.told, fmt.Sprintf("[While the call ran, its MCP server asked: %s %s.]",
			interaction.Visible(clip(question, 500)), strings.TrimSuffix(became, ".")))
	}
}

func (u *underway) expire() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.expired = true
}

func (u *underway) over() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.expired
}

// outcome is a call's outcome with what was asked meanwhile. A call whose question nobody answered in time has ended by
// that, whatever its server then said.
func (u *underway) outcome(out tool.Outcome, unknown string) tool.Outcome {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.expired {
		return tool.Outcome{Result: &tool.Result{Status: tool.StatusExpired, Content: "Nobody answered in time what the MCP server " + u.server +
			" asked in the middle of the call, so the call was ended. " + unknown}}
	}
	if len(u.told) > 0 {
		out.Result.Content += "\n" + strings.Join(u.told, "\n")
	}
	return out
}

// enter notes that a call is under way on the connection; false where it has to have one of its own.
func (c *connection) enter(u *underway) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asks.Load() && len(c.calls) > 0 {
		return false
	}
	c.calls = append(c.calls, u)
	return true
}

func (c *connection) leave(u *underway) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls = slices.DeleteFunc(c.calls, func(o *underway) bool { return o == u })
}

// lease returns a connection for a call. done must be called at its end.
func (s *Server) lease(ctx context.Context, u *underway) (c *connection, done func(), err error) {
	if c, err = s.live(ctx); err != nil {
		return nil, nil, err
	}
	if c.enter(u) {
		return c, func() { c.leave(u) }, nil
	}
	select {
	case s.own <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, s.unreachable(ctx.Err())
	}
	connecting, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	own, err := s.connect(connecting, s.cfg.StartTimeout)
	if err != nil {
		<-s.own
		return nil, nil, s.unreachable(err)
	}
	own.enter(u)
	stop := context.AfterFunc(s.ctx, func() { _ = own.close() })
	return own, func() {
		stop()
		if err := own.close(); err != nil {
			s.log.Warn("an MCP server could not be ended", "error", err)
		}
		<-s.own
	}, nil
}

// opened puts to people what a server wants opened before it takes a call, which it has refused for that; false where that
// is not why.
func (u *underway) opened(ctx context.Context, err error) bool {
	var answer *jsonrpc.Error
	if !errors.As(err, &answer) || answer.Code != mcp.CodeURLElicitationRequired {
		return false
	}
	var wants struct {
		Elicitations []*mcp.ElicitParams `json:"elicitations"`
	}
	if json.Unmarshal(answer.Data, &wants) != nil || len(wants.Elicitations) == 0 || len(wants.Elicitations) > maxAsked {
		return false
	}
	for _, p := range wants.Elicitations {
		if p == nil || p.URL == "" || u.put(ctx, p).Action != accepted {
			return false
		}
	}
	return true
}
