package api

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"holdpoint/agent"
	"holdpoint/interaction"
	"holdpoint/workflows"
)

// Bounds of a run's metadata, in bytes.
const (
	maxMetadataKey   = 128
	maxMetadataValue = 1 << 10
)

// Memo fields of a session's workflow: whose run it is, and a digest of what started it.
const (
	MemoRun    = "holdpoint_run_id"
	memoDigest = "holdpoint_start_digest"
)

// idSpace is the namespace of the ids that are derived from idempotency keys.
var idSpace = uuid.MustParse("7f0c5a9e-3c0b-5d0e-9a55-5b5f0c1f7d10")

type startInput struct {
	IdempotencyKey string `header:"Idempotency-Key" maxLength:"255" doc:"The same key of the same caller starts one run, however often it is sent"`
	Body           StartRun
}

type startOutput struct{ Body StartedRun }

// start begins a run. With an idempotency key, a repeated request finds the run of the first one, live or ended.
func (s *Server) start(ctx context.Context, in *startInput) (*startOutput, error) {
	r, err := s.newRun(ctx, in)
	if err != nil {
		return nil, err
	}
	if in.IdempotencyKey != "" {
		if old, found, err := s.cfg.Store.Run(ctx, r.ID); err != nil {
			return nil, err
		} else if found {
			return startedBefore(old, startDigest(old), r)
		}
	}
	if err := s.launch(ctx, r); err != nil {
		return s.notLaunched(ctx, err, r)
	}
	// The run's first activity stores it as well, so a failure here costs nothing but that it shows later.
	if err := s.cfg.Store.EnsureRun(context.WithoutCancel(ctx), r); err != nil {
		s.cfg.Log.WarnContext(ctx, "a started run could not be stored yet", "run_id", r.ID, "error", err)
	}
	out := started(r)
	if why := s.cfg.Unreached(r.Agent); why != "" {
		out.Warnings = append(out.Warnings, why)
	}
	out.Warnings = append(out.Warnings, s.cfg.Unmet(r.Agent, r.UserID)...)
	return &startOutput{out}, nil
}

func started(r agent.Run) StartedRun {
	return StartedRun{RunID: r.ID, SessionID: r.SessionID, WorkflowID: r.WorkflowID, Status: r.Status}
}

// newRun checks the request and gives the run its ids.
func (s *Server) newRun(ctx context.Context, in *startInput) (agent.Run, error) {
	p, b := principal(ctx), in.Body
	if err := s.checkStart(p, b); err != nil {
		return agent.Run{}, err
	}
	if err := s.checkSession(ctx, p, b); err != nil {
		return agent.Run{}, err
	}
	// Of version 7: ids that follow time keep the pages of the store's indexes full.
	run, session := uuid.Must(uuid.NewV7()).String(), uuid.Must(uuid.NewV7()).String()
	if in.IdempotencyKey != "" {
		run = derive("run", p.ID, in.IdempotencyKey)
		session = derive("session", p.ID, in.IdempotencyKey)
	}
	r := agent.Run{ID: interaction.RunID(run), SessionID: interaction.SessionID(b.SessionID), Agent: b.Agent,
		UserID: interaction.PrincipalID(b.UserID), Requester: p.ID, Input: b.Input, Metadata: b.Metadata,
		Status: agent.RunRunning, StartedAt: s.now()}
	if r.SessionID == "" {
		r.SessionID = interaction.SessionID(session)
	}
	if r.UserID == "" {
		r.UserID = p.ID
	}
	r.WorkflowID = workflows.SessionWorkflowID(r.SessionID)
	return r, nil
}

// checkSession refuses to go on with a conversation that is another's, or that a called agent has with its caller. A
// session belongs to the user of its runs.
func (s *Server) checkSession(ctx context.Context, p interaction.Principal, b StartRun) error {
	if b.SessionID == "" {
		return nil
	}
	runs, _, err := s.cfg.Store.Runs(ctx, RunFilter{SessionID: interaction.SessionID(b.SessionID), PageSize: 1})
	if err != nil || len(runs) == 0 {
		return err
	}
	user := interaction.PrincipalID(b.UserID)
	if user == "" {
		user = p.ID
	}
	if runs[0].UserID != user || runs[0].Parent != "" {
		return notYourSession(b.SessionID)
	}
	return nil
}

func notYourSession(id string) *Problem {
	return problem(http.StatusForbidden, CodeForbidden, "session %q can't be gone on with here: take another id, or none", id).
		at("body.session_id", "is not yours")
}

func (s *Server) checkStart(p interaction.Principal, b StartRun) error {
	if !mayStart(p) {
		return problem(http.StatusForbidden, CodeForbidden, "starting a run needs the role %q or %q", RoleUser, RoleAdmin)
	}
	if b.UserID != "" && b.UserID != string(p.ID) && !mayActFor(p) {
		return problem(http.StatusForbidden, CodeForbidden, "starting a run for another user needs the role %q", RoleActFor).
			at("body.user_id", "is not you")
	}
	if b.UserID != string(p.ID) {
		if err := checkPerson("user_id", b.UserID); err != nil {
			return err
		}
	}
	if len(b.Input) > interaction.MaxMessageBytes {
		return problem(http.StatusRequestEntityTooLarge, CodeTooLarge, "the input has %d bytes; at most %d are taken",
			len(b.Input), interaction.MaxMessageBytes).at("body.input", "too long")
	}
	for k, v := range b.Metadata {
		if len(k) > maxMetadataKey || len(v) > maxMetadataValue {
			return problem(http.StatusRequestEntityTooLarge, CodeTooLarge, "metadata keys have at most %d bytes, values %d",
				maxMetadataKey, maxMetadataValue).at("body.metadata", "too long")
		}
	}
	var names []string
	for _, a := range s.cfg.Agents.Agents() {
		names = append(names, a.Name)
	}
	if !slices.Contains(names, b.Agent) {
		e := problem(http.StatusUnprocessableEntity, CodeUnknownAgent, "there is no agent %q; agents lists those there are", b.Agent)
		e.Agents = names
		return e.at("body.agent", "unknown")
	}
	return nil
}

// derive makes an id from who asks and their key, so that nobody meets another's run by choosing the same key.
func derive(kind string, who interaction.PrincipalID, key string) string {
	return uuid.NewSHA1(idSpace, []byte(kind+"\x00"+string(who)+"\x00"+key)).String()
}

// startDigest tells apart what runs were started with.
func startDigest(r agent.Run) string {
	if len(r.Metadata) == 0 {
		r.Metadata = nil
	}
	b, err := json.Marshal([]any{r.ID, r.SessionID, r.Agent, r.UserID, r.Requester, r.Input, r.Metadata})
	if err != nil { // strings always have a JSON form
		return ""
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// startedBefore answers a repeated key: with the run it started, or a refusal if it came with another body.
func startedBefore(old agent.Run, digest string, r agent.Run) (*startOutput, error) {
	if digest != startDigest(r) {
		return nil, problem(http.StatusUnprocessableEntity, CodeKeyReused,
			"this Idempotency-Key started run %q with another body; send a new key for a new run", r.ID).
			at("header.Idempotency-Key", "used before")
	}
	return &startOutput{started(old)}, nil
}

// launch starts the run's workflow. Whoever has seen the session's last run end may start the next at once: the record
// shows the end a moment before the workflow is gone, and that moment is waited for.
func (s *Server) launch(ctx context.Context, r agent.Run) error {
	limited, cancel := context.WithTimeout(ctx, s.cfg.UpdateTimeout)
	defer cancel()
	for wait := launchPause; ; wait = min(2*wait, 20*launchPause) {
		err := s.launchOnce(ctx, r)
		var busy *serviceerror.WorkflowExecutionAlreadyStarted
		if !errors.As(err, &busy) || !s.leaving(ctx, r) || !pause(limited, wait) {
			return err
		}
	}
}

const launchPause = 20 * time.Millisecond

// leaving reports whether the run that holds the session has ended in the record.
func (s *Server) leaving(ctx context.Context, r agent.Run) bool {
	live, _ := s.liveRun(ctx, r)
	if live == "" || live == r.ID {
		return false
	}
	old, found, err := s.cfg.Store.Run(ctx, live)
	return err == nil && found && old.Status.Final()
}

func (s *Server) launchOnce(ctx context.Context, r agent.Run) error {
	_, err := s.cfg.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                                       r.WorkflowID,
		TaskQueue:                                s.cfg.TaskQueue,
		WorkflowIDConflictPolicy:                 enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		EnableEagerStart:                         true, // where a worker of this process has a free slot
		Memo:                                     map[string]any{MemoRun: r.ID, memoDigest: startDigest(r)},
	}, s.workflowOf(r.Agent), workflows.RunInput{RunID: r.ID, SessionID: r.SessionID, Agent: r.Agent,
		UserID: r.UserID, Requester: r.Requester, Input: r.Input, Metadata: r.Metadata, Trust: s.cfg.Trust})
	return err
}

// workflowOf is the workflow that runs an agent, or a workflow of agents.
func (s *Server) workflowOf(name string) string {
	for _, a := range s.cfg.Agents.Agents() {
		if a.Name == name && a.Workflow != "" {
			return workflows.PipelineName
		}
	}
	return workflows.AgentRunName
}

// notLaunched says why a run did not start; a repeated request whose run is live is answered with that run.
func (s *Server) notLaunched(ctx context.Context, err error, r agent.Run) (*startOutput, error) {
	var busy *serviceerror.WorkflowExecutionAlreadyStarted
	if !errors.As(err, &busy) {
		if unreachable(err) {
			s.cfg.Log.WarnContext(ctx, "run not started", "run_id", r.ID, "error", err)
			return nil, problem(http.StatusServiceUnavailable, CodeUnavailable, "Temporal could not be reached, and the run may "+
				"have started or not; send the request again with the same Idempotency-Key").header("Retry-After", "2")
		}
		return nil, err
	}
	live, digest := s.liveRun(ctx, r)
	if live == r.ID {
		return startedBefore(r, digest, r)
	}
	if old, found, err := s.cfg.Store.Run(ctx, live); err != nil || found && old.UserID != r.UserID && !owns(principal(ctx), old) {
		return nil, notYourSession(string(r.SessionID)) // it was another's a moment before the record showed it
	}
	p := problem(http.StatusConflict, CodeSessionBusy, "session %q has a live run; wait for its end, stop it, "+
		"or send it a message", r.SessionID)
	p.RunID = string(live)
	if live != "" {
		p.Detail += "; it is run " + string(live)
	}
	return nil, p
}

// liveRun reads which run holds the session: from Temporal, which knows, or else from the record. It is "" where
// neither can tell.
func (s *Server) liveRun(ctx context.Context, r agent.Run) (interaction.RunID, string) {
	d, err := s.cfg.Temporal.DescribeWorkflowExecution(ctx, r.WorkflowID, "")
	if err == nil {
		fields := d.GetWorkflowExecutionInfo().GetMemo().GetFields()
		var run interaction.RunID
		var digest string
		dc := converter.GetDefaultDataConverter()
		if dc.FromPayload(fields[MemoRun], &run) == nil && dc.FromPayload(fields[memoDigest], &digest) == nil && run != "" {
			return run, digest
		}
	}
	runs, _, err := s.cfg.Store.Runs(ctx, RunFilter{SessionID: r.SessionID, PageSize: 1})
	if err != nil || len(runs) == 0 || runs[0].Status.Final() {
		return "", ""
	}
	return runs[0].ID, startDigest(runs[0])
}
