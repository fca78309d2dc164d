package llm

import "fmt"

// PairingError says where a transcript breaks the rule that every provider insists on: an assistant message's
// tool calls are answered by exactly one tool message each, directly after it, in the order of the calls.
type PairingError struct {
	Index  int    // of the offending message
	Reason string // what is wrong, as a sentence
}

func (e *PairingError) Error() string {
	return fmt.Sprintf("message %d of the transcript: %s", e.Index, e.Reason)
}

// CheckPairing reports the first break of the pairing rule as a *PairingError. Ids are compared with the call
// at the same place only, so ids that a provider used twice, or left empty, are in order.
func CheckPairing(messages []Message) error {
	for i := 0; i < len(messages); i++ {
		m := messages[i]
		switch {
		case m.Role == RoleTool:
			return &PairingError{Index: i, Reason: fmt.Sprintf("a tool message answers %q, but no tool call awaits an answer here", m.ProviderID)}
		case len(m.ToolCalls) == 0:
			continue
		case m.Role != RoleAssistant:
			return &PairingError{Index: i, Reason: fmt.Sprintf("a %s message has tool calls; only an assistant message may", m.Role)}
		}
		if err := checkAnswers(messages, i); err != nil {
			return err
		}
		i += len(m.ToolCalls)
	}
	return nil
}

// checkAnswers checks the messages after the assistant message at index at.
func checkAnswers(messages []Message, at int) error {
	for n, call := range messages[at].ToolCalls {
		i := at + 1 + n
		if i >= len(messages) || messages[i].Role != RoleTool {
			return &PairingError{Index: at, Reason: fmt.Sprintf("tool call %d (%q, of %q) has no tool message that answers it", n+1, call.ProviderID, call.Name)}
		}
		if got := messages[i].ProviderID; got != call.ProviderID {
			return &PairingError{Index: i, Reason: fmt.Sprintf("the tool message answers %q where tool call %d, %q, awaits its answer", got, n+1, call.ProviderID)}
		}
	}
	return nil
}
