package agent

import (
	"time"

	"holdpoint/interaction"
)

// NoticeKind says what a notice tells. The set is closed.
type NoticeKind string

const (
	NoticeOpened   NoticeKind = "interaction.opened"   // people are asked
	NoticeReminded NoticeKind = "interaction.reminded" // they are asked again, or others as well
	NoticeClosed   NoticeKind = "interaction.closed"   // nobody needs to answer any more
	NoticeDecided  NoticeKind = "approval.decided"     // to the program that asked
)

// Notice is one thing to tell, kept until it has been told. What is told is read when it is: a notice that was long on its
// way says how things stand then.
type Notice struct {
	ID          string            `json:"id"` // the same however often it is sent
	To          string            `json:"to"` // a notifier's name
	Kind        NoticeKind        `json:"kind"`
	RunID       interaction.RunID `json:"run_id"`
	Interaction interaction.ID    `json:"interaction_id,omitempty"`
	CreatedAt   time.Time         `json:"created_at"`
	Attempts    int               `json:"attempts,omitempty"` // that failed
	BegunAt     time.Time         `json:"begun_at,omitzero"`  // of the first attempt, written before it is made
}
