package workflows_test

import (
	"flag"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"holdpoint/interaction"
)

// lives is how many random runs a property test lets pass; make property takes more than the suite can.
var lives = flag.Int("lives", 200, "how many random runs the property of the gate is tried on")

// script is a random run: the calls that the model makes, and what people and the world do meanwhile.
type script struct {
	Turns [][]called
	Moves []move
	Trust trust
	// Stages make it a run of a workflow of agents: gates, and agents whose calls are handed over.
	Stages []called
	// Anew has the run continue as new after every turn.
	Anew bool
}

// what a move is.
const (
	moveAnswer = "answer"
	moveResend = "resend" // an earlier answer once more, as it was
	moveReuse  = "reuse"  // its id with another answer
	movePause  = "pause_run"
	moveResume = "resume_run"
	moveAbort  = "abort_run"
	moveAllow  = "allow" // a rule that allows the call appears
	moveDeny   = "deny"
	moveText   = "text"
	moveJunk   = "junk" // what is no message at all
)

// move is one thing that happens.
type move struct {
	Wait   int // minutes since the last one
	Tie    bool
	What   string
	Call   int
	At     string // which question of the call: "" the last, "first", "next turn", "unknown"
	Action interaction.Action
	Who    string
	Stale  bool // has a digest of something else
	Odd    bool // carries what does not go with the action, or lacks what does
	Timed  bool // has the time at which it was given
	To     []string
	Until  int // minutes from now; 0: no end
	Signal bool
	Seal   seal
	Sub    bool // is about another agent's question, if there is one
	Old    int  // which earlier one, with resend and reuse
}

var people = []string{"ada", "bo", "cy", "di", requester, ""}

func anyRule() *rapid.Generator[rule] {
	return rapid.Custom(func(t *rapid.T) rule {
		r := rule{Quorum: rapid.SampledFrom([]int{0, 1, 1, 2, 2, 3}).Draw(t, "quorum"), FourEyes: rapid.Bool().Draw(t, "four eyes")}
		r.Reviewers = rapid.SampledFrom([][]string{nil, nil, {"ada", "bo"}, {"ada", "bo", "di"}, {"ada", "group:ops"}, {"bo", requester}}).Draw(t, "reviewers")
		if rapid.Bool().Draw(t, "deadline") {
			r.Timeout = rapid.IntRange(1, 12).Draw(t, "timeout")
			r.OnTimeout = rapid.SampledFrom([]interaction.Action{"", "reject", "skip", "retry", "terminate"}).Draw(t, "on timeout")
		}
		if rapid.IntRange(0, 2).Draw(t, "reminders") == 0 {
			r.Remind = rapid.IntRange(1, 3).Draw(t, "remind every")
		}
		if rapid.IntRange(0, 2).Draw(t, "ladder") == 0 {
			r.Escalate, r.EscalateTo = rapid.IntRange(1, 6).Draw(t, "escalate after"), rapid.SampledFrom([]string{"di", "ada", "group:ops"}).Draw(t, "escalate to")
		}
		return r
	})
}

// anyWork is a call of a run, which may hand its work over, ask while it runs, or do what those of other agents do.
func anyWork() *rapid.Generator[called] {
	return rapid.Custom(func(t *rapid.T) called {
		c := anyCalled().Draw(t, "call")
		switch rapid.IntRange(0, 7).Draw(t, "work") {
		case 0:
			c.Fate = fateLive
		case 1:
			c.Fate, c.Sub = fateAgent, rapid.SliceOfN(anyCalled(), 1, 2).Draw(t, "of another agent")
		}
		return c
	})
}

// anyStage is a gate, or another agent's work.
func anyStage() *rapid.Generator[called] {
	return rapid.Custom(func(t *rapid.T) called {
		c := called{Rule: anyRule().Draw(t, "rule")}
		if rapid.Bool().Draw(t, "an agent") {
			c.Sub = rapid.SliceOfN(anyCalled(), 1, 2).Draw(t, "of another agent")
		} else if c.Rule.OnTimeout != interaction.ActionTerminate {
			c.Rule.OnTimeout = interaction.ActionReject
		}
		return c
	})
}

func anyCalled() *rapid.Generator[called] {
	return rapid.Custom(func(t *rapid.T) called {
		return called{Rule: anyRule().Draw(t, "rule"),
			Fate: rapid.SampledFrom([]fate{fateSmooth, fateSmooth, fateSmooth, fateFree, fateFlaky, fateDies, fateStricter, fateAsks, fateHeld, fateHeld}).Draw(t, "fate")}
	})
}

var actions = []interaction.Action{"approve", "approve", "approve", "approve", "approve", "modify_args", "reject", "retry", "skip", "answer", "answer",
	"terminate", "pause", "pause", "resume", "resume", "resume", "delegate", "delegate", "provide_info", "custom", "redact", "redact", "redact", "withhold"}

func anyMove() *rapid.Generator[move] {
	return rapid.Custom(func(t *rapid.T) move {
		m := move{Wait: rapid.SampledFrom([]int{0, 1, 1, 1, 2, 3}).Draw(t, "wait"), Call: rapid.IntRange(0, 2).Draw(t, "call")}
		m.What = rapid.SampledFrom(append(strings.Split(strings.Repeat(moveAnswer+" ", 24), " ")[:24], moveResend, moveResend, moveReuse, movePause, moveResume,
			moveAllow, moveDeny, moveText, moveAbort, moveJunk)).Draw(t, "what")
		m.Signal = rapid.Bool().Draw(t, "by signal")
		switch m.What {
		case moveAnswer, moveReuse:
			m.At = rapid.SampledFrom([]string{"", "", "", "", "", "", "first", "next turn", "unknown"}).Draw(t, "at")
			m.Action = rapid.SampledFrom(actions).Draw(t, "action")
			m.Who = rapid.SampledFrom(people).Draw(t, "who")
			m.Sub = rapid.IntRange(0, 2).Draw(t, "of another agent") == 0
			m.Stale, m.Odd = rapid.IntRange(0, 15).Draw(t, "stale") == 0, rapid.IntRange(0, 15).Draw(t, "odd") == 0
			m.Timed, m.Tie = rapid.Bool().Draw(t, "timed"), rapid.IntRange(0, 5).Draw(t, "tie") == 0
			if m.Action == interaction.ActionPause || m.Action == interaction.ActionResume { // or what time does would move to the full minute
				m.Tie = false
			}
			if m.Action == interaction.ActionDelegate {
				m.To = rapid.SampledFrom([][]string{{"bo"}, {"cy"}, {"di", "group:ops"}, {requester}, {"ada"}}).Draw(t, "to")
				m.Until = rapid.IntRange(0, 5).Draw(t, "until")
			}
			m.Signal = m.Signal && !m.Tie
			m.Seal = rapid.SampledFrom([]seal{sealGood, sealGood, sealGood, sealGood, sealNone, sealForged}).Draw(t, "seal")
		}
		m.Old = rapid.IntRange(0, 9).Draw(t, "old")
		return m
	})
}

func anyScript() *rapid.Generator[script] {
	return rapid.Custom(func(t *rapid.T) script {
		s := script{Turns: rapid.SliceOfN(rapid.SliceOfN(anyWork(), 1, 3), 1, 3).Draw(t, "turns"),
			Moves: rapid.SliceOfN(anyMove(), 1, 25).Draw(t, "moves"), Anew: rapid.IntRange(0, 3).Draw(t, "anew") == 0,
			Trust: rapid.SampledFrom([]trust{trustAll, trustAll, trustSigned, trustUnsigned}).Draw(t, "trust")}
		if rapid.IntRange(0, 4).Draw(t, "workflow of agents") == 0 {
			s.Stages = rapid.SliceOfN(anyStage(), 1, 4).Draw(t, "stages")
		}
		s.simplify()
		for i := range s.Moves[1:] { // while rules are looked at again, or the run ends, an answer may come first or not
			switch m := s.Moves[i]; {
			case i == 0, m.What == moveAllow, m.What == moveDeny, m.What == moveAbort, m.What == moveResend,
				m.Action == interaction.ActionResume, m.Action == interaction.ActionTerminate:
				s.Moves[i+1].Wait = max(s.Moves[i+1].Wait, 1)
			}
		}
		return s
	})
}

// simplify takes out of a script what it can't be told by: another agent's run that goes on in another history, and messages to a
// workflow of agents, which reads none.
func (s *script) simplify() {
	if s.Anew = s.Anew && len(s.Stages) == 0; s.Anew {
		for _, turn := range s.Turns {
			for i := range turn {
				if turn[i].Fate == fateAgent {
					turn[i].Fate, turn[i].Sub = fateSmooth, nil
				}
			}
		}
	}
	for i := range s.Moves {
		if m := &s.Moves[i]; len(s.Stages) > 0 && (m.What == moveText || m.What == moveResend || m.What == moveReuse) {
			m.What = moveAnswer
		}
		s.Moves[i].Tie = s.Moves[i].Tie && len(s.Stages) == 0 && !s.Moves[i].Sub
	}
}

// TestGateDoesAsItsModelSays lets random runs pass in Temporal's test environment. After every move the run must stand as
// the reference model does, every answer must be taken or refused as it says, and in the end every answer that was taken
// must have been carried out once, every approved effect have happened once or been asked about, and no other.
func TestGateDoesAsItsModelSays(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{"rapid.nofailfile": "true", "rapid.shrinktime": "20s"} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]int{}
	share := max(*lives/rapidChecks, 1)
	rapid.Check(t, func(rt *rapid.T) {
		for range share {
			s := anyScript().Draw(rt, "script")
			d := newDrive(s, seen)
			if wrong := d.live(); len(wrong) > 0 {
				rt.Fatalf("%s\n%+v", strings.Join(wrong, "\n"), s)
			}
		}
	})
	t.Logf("%v", seen)
	musts := []string{"applied", "refused", "expired", "ran", "completed"}
	if *lives >= 1000 { // of fewer, chance may leave out what is rare
		musts = append(musts, "duplicate", "kept", "cancelled", "released", "not trusted", "asked whether to run again", "continued as new",
			"aborted", "failed", "asked while it ran", "asked by another agent", "asked by a stage")
	}
	for _, must := range musts {
		if seen[must] == 0 {
			t.Errorf("the runs were too dull to show anything: nothing was %s", must)
		}
	}
}

// TestGateInRunsThatWentWrong has runs that the property once found.
func TestGateInRunsThatWentWrong(t *testing.T) {
	t.Parallel()
	answer := func(wait int, who string, action interaction.Action) move {
		return move{Wait: wait, What: moveAnswer, Who: who, Action: action, Timed: true}
	}
	late := func(r rule) [][]called { return [][]called{{{Rule: r}}} }
	for name, s := range map[string]script{
		"a run is stopped before its first task": {Turns: late(rule{}), Moves: []move{{What: moveAbort}}},
		"what is held past its deadline goes on": {Turns: late(rule{Timeout: 2}), Moves: []move{answer(1, "ada", interaction.ActionPause),
			answer(9, "ada", interaction.ActionResume), answer(1, "ada", interaction.ActionApprove)}},
		"the run ends before what was answered is asked": {Turns: late(rule{}), Moves: []move{{Wait: 1, What: moveAnswer, At: "next turn", Who: "ada", Action: interaction.ActionApprove}}},
		"a paused run is stopped after an approval": {Turns: late(rule{}), Moves: []move{{Wait: 1, What: movePause}, answer(1, "ada", interaction.ActionApprove),
			{Wait: 1, What: moveAbort}}},
		"a run is stopped after the first of two votes": {Turns: late(rule{Quorum: 2}), Moves: []move{answer(1, "ada", interaction.ActionApprove), {Wait: 1, What: moveAbort}}},
		"a vote for a seat that has voted": {Turns: late(rule{Reviewers: []string{"ada", "bo"}, Quorum: 2}), Moves: []move{
			{Wait: 1, What: moveAnswer, Who: "ada", Action: interaction.ActionDelegate, To: []string{"cy"}, Until: 2}, answer(1, "cy", interaction.ActionApprove),
			answer(2, "ada", interaction.ActionApprove), answer(1, "ada", interaction.ActionApprove), answer(1, "bo", interaction.ActionApprove)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if wrong := newDrive(s, map[string]int{}).live(); len(wrong) > 0 {
				t.Error(strings.Join(wrong, "\n"))
			}
		})
	}
}

// rapidChecks is how often rapid calls a property unless told otherwise.
const rapidChecks = 100
