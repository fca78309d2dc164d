package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// keyMeta is where a server finds the idempotency key of a call.
const keyMeta = "holdpoint/idempotency-key"

// remote is one tool of a server.
type remote struct {
	server *Server
	name   string // the server's own
	def    tool.Definition
}

// Definition is the tool as it was when it was looked up.
func (r remote) Definition() tool.Definition { return r.def }

// Run makes the call, once. What goes wrong with it is a result, which says whether it may have had an effect.
func (r remote) Run(ctx context.Context, call tool.Call) (tool.Outcome, error) {
	out, sure := r.try(ctx, call)
	if !sure && r.def.Idempotent && ctx.Err() == nil {
		out, _ = r.try(ctx, call)
	}
	return out, nil
}

// try makes one attempt. sure is false when nobody can know whether it had an effect.
func (r remote) try(ctx context.Context, call tool.Call) (out tool.Outcome, sure bool) {
	u := &underway{server: r.server.cfg.Name, ask: call.Ask}
	c, done, err := r.server.lease(ctx, u)
	if err != nil {
		return tool.Failure(sentence(err.Error()) + " The call was not made."), true
	}
	defer done()
	params := &mcp.CallToolParams{Name: r.name, Arguments: call.Args, Meta: mcp.Meta{keyMeta: call.Key}}
	asking := context.WithValue(ctx, underwayKey{}, u)
	res, err := c.session.CallTool(asking, params)
	if err != nil && u.opened(ctx, err) { // it was refused, so nothing has happened
		res, err = c.session.CallTool(asking, params)
	}
	if err == nil {
		r.server.settled()
		return u.outcome(result(res), r.unknown()), true
	}
	out, sure, over := r.fault(ctx, c, err)
	if over {
		r.server.drop(c, err)
	}
	return u.outcome(out, r.unknown()), sure || u.over()
}

// fault words why a call has no result. over is true when the connection is of no more use.
func (r remote) fault(ctx context.Context, c *connection, err error) (out tool.Outcome, sure, over bool) {
	server := r.server.cfg.Name
	why := interaction.Visible(clip(c.explained(err, closed(err)).Error(), maxErrorBytes))
	var answer *jsonrpc.Error
	var dial *net.OpError
	switch {
	case ctx.Err() != nil:
		return tool.Failure(fmt.Sprintf("The call was stopped before the MCP server %s answered (%v). %s", server, ctx.Err(), r.unknown())), false, false
	case errors.As(err, &dial) && dial.Op == "dial", errors.Is(err, mcp.ErrSessionMissing):
		return tool.Failure(fmt.Sprintf("The MCP server %s can't be reached: %s. The call was not made.", server, why)), true, true
	case errors.As(err, &answer) && answer.Code != codeRejected && !errors.Is(err, mcp.ErrConnectionClosed):
		return tool.Failure(fmt.Sprintf("The MCP server %s did not carry out the call: %s", server, interaction.Visible(clip(answer.Message, maxErrorBytes)))), true, false
	default:
		return tool.Failure(fmt.Sprintf("The MCP server %s ended or broke off before it answered: %s. %s", server, why, r.unknown())), false, true
	}
}

// codeRejected is what the SDK gives to what could not be sent, or had no readable answer.
const codeRejected = -32005

func (r remote) unknown() string {
	if r.def.Idempotent {
		return "The call may be made again: this tool is marked as one that may run twice."
	}
	return "Whether it took effect is unknown: find out before it is made again."
}

func sentence(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + strings.TrimRight(text[1:], ".") + "."
}

// closed reports whether an error says that the other side has gone, which it may have said something about.
func closed(err error) bool {
	return errors.Is(err, mcp.ErrConnectionClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}
