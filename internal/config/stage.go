package config

import "holdpoint/interaction"

// What a rule is about.
const (
	stageCall   = "call"
	stageResult = "result"
)

// resultTimeoutActions are what may happen to an output that nobody releases.
var resultTimeoutActions = []string{string(interaction.ActionWithhold), string(interaction.ActionTerminate)}

var allTimeoutActions = append(append([]string(nil), timeoutActions...), string(interaction.ActionWithhold))

// stage reads what the rule is about, and refuses what makes no sense for a result.
func (s *section) stage(decision string) (result bool) {
	if s.choice("stage") != stageResult {
		return false
	}
	switch decision {
	case "deny":
		s.reportKey("decision", "deny is not possible with stage: result: the call has run by then; deny the call by a rule without stage, or let people withhold its output (decision: ask)")
	case "allow":
		s.reportKey("decision", "allow has no effect with stage: result: where no such rule asks, the agent gets the output anyway; remove the rule")
	}
	if s.has("max_grant") {
		s.reportKey("max_grant", "has no effect with stage: result: no saved rule releases an output; remove it")
	}
	if s.has("examples") {
		s.reportKey("examples", "is about calls, and this rule is about results: put it on a rule without stage")
	}
	return true
}
