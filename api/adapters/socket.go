package adapters

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"holdpoint/api"
	"holdpoint/interaction"
)

// Bounds of a WebSocket.
const (
	maxSocketMessage = interaction.MaxResponseBytes
	socketTick       = 500 * time.Millisecond // how soon a run that begins is noticed
)

// socketMessage is a message in either direction.
type socketMessage struct {
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

// The types of messages. The design names the first three; the others are what it says is sent beside them.
const (
	socketRequest   = "agent_tool_permission_request"
	socketResponse  = "agent_tool_permission_response"
	socketGetStatus = "get_agent_status"
	socketStatus    = "agent_status"
	socketDecided   = "agent_tool_permission_result"
	socketRejected  = "agent_tool_permission_rejected"
	socketTool      = "agent_tool_execution_result"
	socketRun       = "agent_run_result"
	socketError     = "error"
)

// session is one client of a session.
type session struct {
	a       *Adapters
	conn    *websocket.Conn
	write   func(ctx context.Context, raw []byte) error
	id      string
	writing sync.Mutex

	mu       sync.Mutex
	looked   bool // at the session's runs
	followed map[interaction.RunID]bool
	shown    map[interaction.ID]bool
	calls    map[interaction.CallID]interaction.ID
}

// socket serves a session's permission requests. It takes in nothing but decisions and questions for the status: words
// decide nothing. Its origin must be the bridge's own or one that is configured, which the library checks.
func (a *Adapters) socket(w http.ResponseWriter, r *http.Request) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		w.Header().Set("Upgrade", "websocket")
		a.refuse(w, r, refusal(http.StatusUpgradeRequired, api.CodeUpgrade, "open a WebSocket here"))
		return
	}
	s := &session{a: a, id: r.PathValue("session_id"), followed: map[interaction.RunID]bool{},
		shown: map[interaction.ID]bool{}, calls: map[interaction.CallID]interaction.ID{}}
	runs, err := s.there(r.Context())
	if err != nil {
		a.refuse(w, r, err)
		return
	}
	refused := &handshake{ResponseWriter: w}
	if s.conn, err = websocket.Accept(refused, r, &websocket.AcceptOptions{OriginPatterns: literally(a.cfg.Origins)}); err != nil {
		if refused.status != 0 { // else it was not to be answered any more
			a.refuse(w, r, refused.why(err))
		}
		return
	}
	defer s.conn.CloseNow() //nolint:errcheck // it is closed already, or there is nobody to tell
	s.serve(r, runs)
}

// serve speaks with a client until one of both is gone.
func (s *session) serve(r *http.Request, runs []begun) {
	s.conn.SetReadLimit(maxSocketMessage)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.a.life, cancel)()
	s.write = func(ctx context.Context, raw []byte) error { return s.conn.Write(ctx, websocket.MessageText, raw) }
	var group sync.WaitGroup
	for _, part := range []func(context.Context) error{func(ctx context.Context) error { return s.watch(ctx, runs) }, s.ping} {
		group.Go(func() {
			defer cancel()
			if err := part(ctx); err != nil && ctx.Err() == nil {
				s.a.cfg.Log.InfoContext(ctx, "a WebSocket ended", "session_id", s.id, "error", err)
			}
		})
	}
	s.listen(ctx)
	cancel()
	group.Wait()
	_ = s.conn.Close(websocket.StatusGoingAway, "")
}

// handshake keeps back what the library answers to a request that opens no WebSocket, so that it has the form of all refusals.
type handshake struct {
	http.ResponseWriter
	status int
}

func (h *handshake) WriteHeader(status int) {
	if status < http.StatusBadRequest {
		h.ResponseWriter.WriteHeader(status)
		return
	}
	h.status = status
}

func (h *handshake) Write(b []byte) (int, error) {
	if h.status != 0 {
		return len(b), nil
	}
	return h.ResponseWriter.Write(b)
}

// Unwrap gives the library the connection.
func (h *handshake) Unwrap() http.ResponseWriter { return h.ResponseWriter }

func (h *handshake) why(err error) *api.Problem {
	switch h.status {
	case http.StatusForbidden:
		return refusal(h.status, api.CodeForbiddenOrigin, "a page of another origin may not open this WebSocket")
	case http.StatusUpgradeRequired:
		return refusal(h.status, api.CodeUpgrade, "%s", err)
	case http.StatusBadRequest:
		return refusal(h.status, api.CodeInvalid, "%s", err)
	default:
		return refusal(http.StatusInternalServerError, api.CodeInternal, "this connection can't become a WebSocket")
	}
}

// literally are origins as patterns that match nothing else: an IPv6 address has brackets, which mean something in one.
func literally(origins []string) []string {
	list := make([]string, len(origins))
	for n, o := range origins {
		list[n] = strings.NewReplacer(`\`, `\\`, "[", `\[`, "*", `\*`, "?", `\?`).Replace(o)
	}
	return list
}

// listen takes in messages until the client is gone.
func (s *session) listen(ctx context.Context) {
	for {
		kind, data, err := s.conn.Read(ctx)
		if err != nil {
			return
		}
		if kind != websocket.MessageText {
			_ = s.conn.Close(websocket.StatusUnsupportedData, "send text")
			return
		}
		if err := s.take(ctx, data); err != nil {
			p := s.a.asProblem(ctx, err)
			if s.send(ctx, socketError, map[string]any{"session_id": s.id, "code": p.Code, "status": p.Status, "message": p.Detail}) != nil {
				return
			}
		}
	}
}

// ping shows that the client lives; one that does not answer is cut off.
func (s *session) ping(ctx context.Context) error {
	t := time.NewTicker(s.a.cfg.Ping)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
			limited, cancel := context.WithTimeout(ctx, s.a.cfg.WriteTimeout)
			err := s.conn.Ping(limited)
			cancel()
			if err != nil {
				return err
			}
		}
	}
}

// send sends one message. A reader that does not keep up is cut off.
func (s *session) send(ctx context.Context, typ string, data any) error {
	raw, err := json.Marshal(map[string]any{"type": typ, "data": data})
	if err != nil {
		return err
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	ctx, cancel := context.WithTimeout(ctx, s.a.cfg.WriteTimeout)
	defer cancel()
	return s.write(ctx, raw)
}

// permissionResponse is the data of agent_tool_permission_response.
type permissionResponse struct {
	ExecutionID string `json:"execution_id"`
	Approved    *bool  `json:"approved"`
}

// take takes in one message.
func (s *session) take(ctx context.Context, data []byte) error {
	var m socketMessage
	if err := decode(data, &m); err != nil {
		return err
	}
	switch m.Type {
	case socketResponse:
		return s.decide(ctx, m.Data)
	case socketGetStatus:
		return s.status(ctx)
	default:
		return refusal(http.StatusUnprocessableEntity, api.CodeInvalid, "type must be %s or %s, not %q: nothing else decides", socketResponse, socketGetStatus, m.Type)
	}
}

func (s *session) decide(ctx context.Context, data []byte) error {
	var in permissionResponse
	if err := decode(data, &in); err != nil {
		return err
	}
	if in.Approved == nil {
		return refusal(http.StatusUnprocessableEntity, api.CodeInvalid, "approved is missing: send true or false")
	}
	i, err := s.a.find(ctx, in.ExecutionID)
	if err != nil {
		return err
	}
	if mine, err := s.a.inSession(ctx, i, s.id); err != nil {
		return err
	} else if !mine {
		return notFound(in.ExecutionID)
	}
	answer, err := yesOrNo(i.Request, *in.Approved)
	if err != nil {
		return err
	}
	out, err := s.a.answer(ctx, i, answer)
	if err != nil {
		return gone(err, in.ExecutionID)
	}
	return s.send(ctx, socketDecided, map[string]any{"session_id": s.id, "execution_id": in.ExecutionID, "approved": *in.Approved, "status": out.Status})
}

// status answers get_agent_status.
func (s *session) status(ctx context.Context) error {
	open, err := s.pending(ctx)
	if err != nil {
		return err
	}
	runs, err := s.a.runsOf(ctx, s.id)
	if err != nil {
		return err
	}
	status := map[string]any{"session_id": s.id, "status": "idle"}
	tools, others := []any{}, []any{}
	for _, i := range open {
		if i.Type == interaction.TypeToolApproval {
			tools = append(tools, s.requestOf(i))
		} else {
			others = append(others, map[string]any{"id": i.ID, "type": i.Type, "title": i.Title})
		}
	}
	if len(runs) > 0 {
		status["status"], status["run_id"] = runs[0].Status, runs[0].ID
	} else if len(open) > 0 {
		status["status"], status["run_id"] = "awaiting_human", open[0].RunID
	}
	status["pending_tools"], status["pending_questions"] = tools, others
	return s.send(ctx, socketStatus, status)
}

// pending are the interactions of the session that wait, as far as the caller may see them.
func (s *session) pending(ctx context.Context) (out []shown, err error) {
	all, err := s.a.waiting(ctx, nil)
	if err != nil {
		return nil, err
	}
	for _, i := range all {
		mine, err := s.a.inSession(ctx, i, s.id)
		if err != nil {
			return nil, err
		}
		if mine {
			out = append(out, i)
		}
	}
	return out, nil
}

// permissionRequest is the data of agent_tool_permission_request.
type permissionRequest struct {
	SessionID   string          `json:"session_id"`
	ExecutionID string          `json:"execution_id"`
	ToolName    string          `json:"tool_name"`
	Parameters  json.RawMessage `json:"parameters"`
	RiskLevel   string          `json:"risk_level"`
	Message     string          `json:"message"`
	Redacted    bool            `json:"redacted,omitempty"` // ours: parts are hidden
}

func (s *session) requestOf(i shown) permissionRequest {
	q := i.Request
	r := permissionRequest{SessionID: s.id, ExecutionID: string(q.ID), ToolName: q.ToolName, Parameters: objectOf(q.ToolArgs),
		RiskLevel: riskLevel(q.Risk), Message: q.Title, Redacted: i.redacted}
	if r.RiskLevel == "" {
		r.RiskLevel = "medium"
	}
	if more := described(q); more != "" {
		r.Message += "\n\n" + more
	}
	return r
}
