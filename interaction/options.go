package interaction

import (
	"slices"
	"strings"
)

// choosable are the actions that a run can carry out today. Every other action is refused as not offered, even
// where an option names it.
var choosable = []Action{ActionApprove, ActionModifyArgs, ActionReject, ActionRetry, ActionProvideInfo, ActionAnswer, ActionSkip,
	ActionTerminate, ActionRedact, ActionWithhold}

// carries reports whether a can be carried out on a request like r.
func (r Request) carries(a Action) bool {
	if r.Kind == KindProgram {
		return a == ActionApprove || a == ActionModifyArgs || a == ActionReject
	}
	switch a {
	case ActionRedact:
		return r.Kind == KindResult || r.Kind == KindStage
	case ActionWithhold:
		return r.Kind == KindResult
	case ActionModifyArgs, ActionReject, ActionRetry, ActionAnswer, ActionSkip:
		return r.Kind != KindResult && (r.Kind != KindStage || a == ActionReject) // what has run can't be changed, and its output has actions of its own
	case ActionProvideInfo:
		return r.Type != TypeToolApproval
	case ActionCustom: // only the tool that offers it knows what it means, and it would carry a secret in the clear
		return r.Kind == KindTool && !r.HasSecret()
	default:
		return slices.Contains(choosable, a)
	}
}

// Actions are what the options offer, in order, each once. An option whose action can't be carried out offers
// nothing.
func (r Request) Actions() []Action {
	var out []Action
	for _, o := range r.Options {
		if r.carries(o.Action) && !slices.Contains(out, o.Action) {
			out = append(out, o.Action)
		}
	}
	return out
}

func joinActions(actions []Action) string {
	if len(actions) == 0 {
		return "none"
	}
	names := make([]string, len(actions))
	for n, a := range actions {
		names[n] = string(a)
	}
	return strings.Join(names, ", ")
}

// StandardOptions are the options for a request of that kind and type whose maker has no better ones. None is a
// default: a person always chooses. For a select they are what stands beside the choices, which only the asker
// knows.
func StandardOptions(kind Kind, t Type) []Option {
	skip := Option{ID: "skip", Label: "Skip", Description: "Go on without it.", Action: ActionSkip}
	stop := Option{ID: "terminate", Label: "Stop the run", Description: "End the whole run.", Action: ActionTerminate, Dangerous: true}
	switch {
	case kind == KindOutcomeUnknown:
		return unknownOptions()
	case kind == KindResult:
		return append(resultOptions(), stop)
	case kind == KindStage:
		return append(stageOptions(), stop)
	case kind == KindProgram:
		return ProgramOptions(true)
	case t == TypeToolApproval:
		return append(approvalOptions(), skip, replyOption("Answer instead", "Give the tool's result yourself."), stop)
	case t == TypeSelect:
		return []Option{skip, stop}
	case t == TypeMissingInfo:
		return []Option{{ID: "provide", Label: "Provide it", Description: "The tool gets it and goes on.", Action: ActionProvideInfo,
			RequiresInput: true}, skip, stop}
	default:
		return []Option{replyOption("Answer", ""), skip, stop}
	}
}

// usual are the options of most questions, which share them: thousands may wait. They are never changed.
var usual = slices.Clip(StandardOptions(KindPermission, TypeToolApproval))

// kept returns the usual options in place of options that are the same, and a copy of others.
func kept(options []Option) []Option {
	if slices.EqualFunc(options, usual, Option.same) {
		return usual
	}
	return slices.Clone(options)
}

func (o Option) same(p Option) bool {
	return o.ID == p.ID && o.Label == p.Label && o.Description == p.Description && o.Action == p.Action && o.Default == p.Default &&
		o.Dangerous == p.Dangerous && o.RequiresInput == p.RequiresInput && o.InputPrompt == p.InputPrompt && len(o.Metadata)+len(p.Metadata) == 0
}

func replyOption(label, description string) Option {
	return Option{ID: "answer", Label: label, Description: description, Action: ActionAnswer, RequiresInput: true}
}

func approvalOptions() []Option {
	return []Option{
		{ID: "approve", Label: "Approve", Description: "Run it exactly as shown.", Action: ActionApprove},
		{ID: "modify_args", Label: "Edit and approve", Description: "Run it with your arguments.",
			Action: ActionModifyArgs, RequiresInput: true, InputPrompt: "The arguments, as a JSON object"},
		{ID: "reject", Label: "Reject", Description: "Do not run it; the agent goes on.", Action: ActionReject,
			InputPrompt: "Why, for the agent"},
		{ID: "retry", Label: "Think again", Description: "Do not run it; the agent reconsiders.", Action: ActionRetry,
			InputPrompt: "What to do differently"},
	}
}

func unknownOptions() []Option {
	return []Option{
		{ID: "run_again", Label: "Run again", Description: "It may have happened already; run it once more.",
			Action: ActionApprove, Dangerous: true},
		{ID: "give_up", Label: "Give up on this call", Description: "Leave it; the agent is told that the outcome is unknown.",
			Action: ActionSkip},
		{ID: "stop", Label: "Stop the run", Description: "End the whole run.", Action: ActionTerminate},
	}
}

func resultOptions() []Option {
	return []Option{
		{ID: "approve", Label: "Release", Description: "The agent gets the output as it is.", Action: ActionApprove},
		{ID: "redact", Label: "Replace", Description: "The agent gets your text in its place, and is told so.", Action: ActionRedact,
			RequiresInput: true, InputPrompt: "The text that the agent gets"},
		{ID: "withhold", Label: "Withhold", Description: "The agent is told only that the output was withheld.", Action: ActionWithhold},
	}
}

func stageOptions() []Option {
	return []Option{
		{ID: "approve", Label: "Go on", Description: "The workflow goes on with the output as it is.", Action: ActionApprove},
		{ID: "redact", Label: "Replace and go on", Description: "The workflow goes on with your text in its place.", Action: ActionRedact,
			RequiresInput: true, InputPrompt: "The text in place of the output"},
		{ID: "reject", Label: "Reject", Description: "The run ends as failed.", Action: ActionReject, Dangerous: true, InputPrompt: "Why"},
	}
}

// ProgramOptions are the options of what a program asks. Only arguments that there are can be changed.
func ProgramOptions(args bool) []Option {
	out := []Option{{ID: "approve", Label: "Approve", Description: "The program goes on as shown.", Action: ActionApprove}}
	if args {
		out = append(out, Option{ID: "modify_args", Label: "Edit and approve", Description: "The program goes on with your arguments.",
			Action: ActionModifyArgs, RequiresInput: true, InputPrompt: "The arguments, as a JSON object"})
	}
	return append(out, Option{ID: "reject", Label: "Reject", Description: "The program is told not to go on.", Action: ActionReject, InputPrompt: "Why"})
}
