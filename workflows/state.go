package workflows

import (
	"slices"

	"holdpoint/activities"
	"holdpoint/interaction"
)

// RunState is all that a run carries through continue-as-new. It never holds an open interaction: a run
// continues as new only between steps.
type RunState struct {
	AgentDigest string `json:"agent_digest,omitempty"` // "" until StartRun has returned
	MaxSteps    int    `json:"max_steps,omitempty"`
	Turn        int    `json:"turn"` // model calls made
	// Answered has the responses that were applied, so that one that comes twice is applied once.
	Answered []ResponseResult `json:"answered,omitempty"`
	// Closed has the interactions that ended, so that "unknown" and "already decided" differ.
	Closed []interaction.Interaction `json:"closed,omitempty"`
	// Early has responses to interactions that this run does not know yet.
	Early []interaction.Response `json:"early,omitempty"`
	// Texts are steering messages that no model call has taken in yet.
	Texts []TextMessage `json:"texts,omitempty"`
	// Seen has the ids of control and text messages.
	Seen []interaction.ResponseID `json:"seen,omitempty"`
	Stop *Stop                    `json:"stop,omitempty"`
	// Paused holds back model calls and tools. Holds has the pauses and their ends that are not in the record yet.
	Paused bool   `json:"paused,omitempty"`
	Holds  []Hold `json:"holds,omitempty"`
	// HeldCalls are the running calls that are paused alone, CallHolds their pauses that are not in the record yet.
	HeldCalls []interaction.CallID  `json:"held_calls,omitempty"`
	CallHolds []activities.CallHold `json:"call_holds,omitempty"`
	// Lifts has the rejections that were lifted and are not forgotten yet.
	Lifts []Lift `json:"lifts,omitempty"`
	// Changes has what happened to open interactions and is not in the record yet.
	Changes []activities.Change `json:"changes,omitempty"`
	// Ended has how questions of running calls ended that is not in the record yet.
	Ended []interaction.Outcome `json:"ended,omitempty"`
	// Refused has the last messages that could not be applied; Unrecorded counts those at its end that are not
	// in the record yet, Dropped those that were too many to keep until they are.
	Refused    []Refusal            `json:"refused,omitempty"`
	Unrecorded int                  `json:"unrecorded,omitempty"`
	Dropped    int                  `json:"dropped,omitempty"`
	RefusedAll int                  `json:"refused_all,omitempty"`
	Last       *interaction.Outcome `json:"last,omitempty"`
}

// Hold is a pause, or its end, for the record.
type Hold struct {
	Key    interaction.ResponseID  `json:"key"`
	Paused bool                    `json:"paused"`
	By     interaction.PrincipalID `json:"by,omitempty"`
	Note   string                  `json:"note,omitempty"`
}

// Lift is a person's word that a rejected call may be asked about again.
type Lift struct {
	Key         interaction.ResponseID  `json:"key"`
	Interaction interaction.ID          `json:"interaction_id"`
	By          interaction.PrincipalID `json:"by,omitempty"`
	Note        string                  `json:"note,omitempty"`
}

// Stop is a person's word that the run must end.
type Stop struct {
	By   interaction.PrincipalID `json:"by,omitempty"`
	Note string                  `json:"note,omitempty"`
	// Outcome is the interaction that was answered with terminate, if that was the way.
	Outcome *interaction.Outcome `json:"outcome,omitempty"`
}

// How much a run keeps. Each bound keeps the state far below the 2 MB that a continue-as-new may carry.
const (
	keepAnswered   = 512
	keepClosed     = 256
	keepEarly      = 100
	keepEarlyBytes = 256 << 10
	keepTexts      = 100
	keepTextBytes  = 256 << 10
	keepSeen       = 512
	keepRefused    = 20
	keepUnrecorded = 500
)

// push appends v and drops the oldest above n.
func push[T any](list []T, v T, n int) []T {
	list = append(list, v)
	if len(list) > n {
		list = slices.Delete(list, 0, len(list)-n)
	}
	return list
}

// answeredBefore returns what became of a response id.
func (s *RunState) answeredBefore(id interaction.ResponseID) (ResponseResult, bool) {
	for _, r := range s.Answered {
		if r.ResponseID == id {
			return r, true
		}
	}
	return ResponseResult{}, false
}

// seenBefore notes a message's id and reports whether it was there.
func (s *RunState) seenBefore(id interaction.ResponseID) bool {
	if slices.Contains(s.Seen, id) {
		return true
	}
	s.Seen = push(s.Seen, id, keepSeen)
	return false
}

// close keeps what is needed to tell a late answer what was decided.
func (s *RunState) close(i interaction.Interaction, out interaction.Outcome) {
	brief := interaction.Interaction{Request: interaction.Request{ID: i.Request.ID}, Status: i.Status, Action: i.Action,
		Reason: i.Reason, ClosedAt: i.ClosedAt}
	for _, r := range i.Responses {
		brief.Responses = append(brief.Responses, interaction.Response{ID: r.ID, RequestID: r.RequestID, Action: r.Action,
			Reviewer: interaction.Principal{ID: r.Reviewer.ID}})
	}
	s.Closed = push(s.Closed, brief, keepClosed)
	last := out
	last.Responses = brief.Responses
	s.Last = &last
}

func (s *RunState) closedInteraction(id interaction.ID) (interaction.Interaction, bool) {
	for _, i := range s.Closed {
		if i.Request.ID == id {
			return i, true
		}
	}
	return interaction.Interaction{}, false
}

// refuse keeps a message that could not be applied until it is in the record, and the last of them after that.
func (s *RunState) refuse(r Refusal) {
	s.RefusedAll++
	if s.Unrecorded < keepUnrecorded {
		s.Unrecorded++
	} else {
		s.Dropped++
	}
	s.Refused = push(s.Refused, r, max(keepRefused, s.Unrecorded))
}

// takeUnrecorded returns what is not in the record yet, the number of the first of it among all refusals, and how
// many were dropped.
func (s *RunState) takeUnrecorded() (list []Refusal, first, dropped int) {
	list = slices.Clone(s.Refused[len(s.Refused)-s.Unrecorded:])
	first, dropped = s.RefusedAll-s.Unrecorded, s.Dropped
	s.Unrecorded, s.Dropped = 0, 0
	s.Refused = s.lastRefused()
	return list, first, dropped
}

// lastRefused are the refusals to show.
func (s *RunState) lastRefused() []Refusal {
	return slices.Clone(s.Refused[max(len(s.Refused)-keepRefused, 0):])
}

// keepEarly keeps a response for an interaction that is about to be known.
func (s *RunState) keepEarly(r interaction.Response, size int) bool {
	if slices.ContainsFunc(s.Early, func(e interaction.Response) bool { return e.ID == r.ID && e.RequestID == r.RequestID }) {
		return true // its sender asks what became of it
	}
	if len(s.Early) >= keepEarly || size+sizesOf(s.Early) > keepEarlyBytes {
		return false
	}
	s.Early = append(s.Early, r)
	return true
}

// takeEarly removes and returns the responses kept for an interaction.
func (s *RunState) takeEarly(id interaction.ID) []interaction.Response {
	var mine, others []interaction.Response
	for _, r := range s.Early {
		if r.RequestID == id {
			mine = append(mine, r)
		} else {
			others = append(others, r)
		}
	}
	s.Early = others
	return mine
}
