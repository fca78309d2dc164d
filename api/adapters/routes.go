package adapters

import (
	"net/http"

	"holdpoint/api"
)

// served is a route and what serves it.
type served struct {
	api.Route
	serve http.HandlerFunc
}

// Mount hands every route to mount, which must serve it only to those whom the bridge has let in.
func (a *Adapters) Mount(mount func(r api.Route, h http.Handler)) {
	for _, list := range [][]served{a.agioRoutes(), a.hitlRoutes(), a.reactRoutes()} {
		for _, r := range list {
			mount(r.Route, r.serve)
		}
	}
}

// answering are the statuses that an answer is refused with.
var answering = []int{400, 404, 409, 413, 415, 422, 503}

func (a *Adapters) agioRoutes() []served {
	return []served{
		{api.Route{Pattern: "POST /agio/tool-consent", ID: "agio-consent", Summary: "Tool consent: allow or deny a call",
			Description: "The consent design's address. docs/protocols.md maps its fields.", Body: consentRequest{}, Answer: consentReply{},
			Refused: consentRefusal{}, Errors: answering}, a.consent},
		{api.Route{Pattern: "GET /agio/runs/{run_id}/events", ID: "agio-events", Summary: "Tool consent: a run's events in the design's form",
			Stream: "The run's events, each once and in order, tool_auth_required and tool_auth_denied among them; Last-Event-ID resumes.", Errors: []int{400, 404, 503}}, a.agioEvents},
		{api.Route{Pattern: "POST /interactions/{id}/respond", ID: "agio-respond", Summary: "Interactions: answer one, and go on as the resumed run's stream",
			Body: agioResponse{}, Stream: "The run's events from the answer on, until it waits again or ends.", Errors: answering}, a.respondAgio},
		{api.Route{Pattern: "GET /interactions/{id}", ID: "agio-interaction", Summary: "Interactions: one", Answer: shownAgio{}, Errors: []int{404}}, a.showAgio},
	}
}

func (a *Adapters) hitlRoutes() []served {
	return []served{
		{api.Route{Pattern: "GET /hitl/approvals", ID: "hitl-approvals", Summary: "Approvals and control: the calls that wait, newest first",
			Query: []api.RouteParam{{Name: "runId", Means: "Only of this run"}, {Name: "sessionId", Means: "Only of this session"}}, Answer: approvalRequests{}, Errors: []int{422}}, a.listApprovals},
		{api.Route{Pattern: "POST /hitl/decisions", ID: "hitl-decide", Summary: "Approvals and control: decide on a call", Body: approvalDecision{}, Answer: decisionReply{},
			Errors: answering}, a.decide},
		{api.Route{Pattern: "POST /hitl/control", ID: "hitl-control", Summary: "Approvals and control: pause, resume or abort a run", Body: controlSignal{}, Answer: controlReply{},
			Errors: answering}, a.control},
		{api.Route{Pattern: "GET /hitl/runs/{run_id}/record", ID: "hitl-record", Summary: "Approvals and control: what was asked and decided in a run, in order", Answer: runRecord{},
			Errors: []int{404, 503}}, a.record},
	}
}

func (a *Adapters) reactRoutes() []served {
	const ended = "The run's events until it ends, what it asks as INTERACTION events."
	return []served{
		{api.Route{Pattern: "GET /agent_backend/ws/{session_id}", ID: "session-socket", Summary: "WebSocket: a session's permission requests", Status: http.StatusSwitchingProtocols,
			Description: "Messages are {type, data} in both directions; docs/protocols.md has their types. The origin must be the bridge's own or among its cors_origins.", Errors: []int{400, 426}}, a.socket},
		{api.Route{Pattern: "POST /api/agent/chat/react/stream", ID: "react-chat", Summary: "ReAct chat: say something, and follow the run", Body: reactChat{}, Stream: ended,
			Refused: reactReply{}, Errors: answering}, a.chat},
		{api.Route{Pattern: "GET /api/agent/chat/react/stream", ID: "react-rejoin", Summary: "ReAct chat: follow a session's newest run",
			Query: []api.RouteParam{{Name: "sessionId", Means: "Whose run"}}, Stream: ended, Refused: reactReply{}, Errors: []int{400, 404, 503}}, a.rejoin},
		{api.Route{Pattern: "POST /api/agent/chat/react/interaction_response", ID: "react-answer", Summary: "ReAct chat: answer what the run asks", Body: reactAnswer{},
			Answer: reactReply{}, Refused: reactReply{}, Errors: answering}, a.answerChat},
	}
}
