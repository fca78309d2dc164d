package builtin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// Need is a variable that a command may need and that a person is asked for: before the command runs, and only for a command
// that names the variable.
type Need struct {
	Name   string
	Prompt string // for the person: what it is for, and where to get it
	Secret bool
}

// needed returns the variables for a command as a person gave them, or the question to ask for them.
func (b bash) needed(command string, answer *interaction.Response) (env []string, ask *interaction.Request, err error) {
	has := workerEnviron(b.cfg.Env)
	var missing []Need
	for _, n := range b.cfg.Needs {
		set := slices.ContainsFunc(has, func(v string) bool { return strings.HasPrefix(v, n.Name+"=") })
		if !set && mentions(command, n.Name) {
			missing = append(missing, n)
		}
	}
	if len(missing) == 0 {
		return nil, nil, nil
	}
	if answer == nil {
		q := askFor(missing)
		return nil, &q, nil
	}
	for i, n := range missing {
		part := *answer
		if len(missing) > 1 {
			if i >= len(answer.Responses) {
				return nil, nil, refuse("%s was not given, so the command was not run.", n.Name)
			}
			part = answer.Responses[i]
		}
		value := given(part, n.Name)
		if value == "" || strings.ContainsRune(value, 0) {
			return nil, nil, refuse("%s was not given, so the command was not run.", n.Name)
		}
		env = append(env, n.Name+"="+value)
	}
	return env, nil, nil
}

// mentions reports whether a command has the name as a word of its own: $NAME, or the NAME that a program reads.
func mentions(command, name string) bool {
	word := func(c byte) bool {
		return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	for from := 0; ; {
		at := strings.Index(command[from:], name)
		if at < 0 {
			return false
		}
		at += from
		end := at + len(name)
		if (at == 0 || !word(command[at-1])) && (end == len(command) || !word(command[end])) {
			return true
		}
		from = at + 1
	}
}

func askFor(missing []Need) interaction.Request {
	if len(missing) == 1 {
		q := missing[0].question()
		q.Title = "bash needs " + q.Title
		return q
	}
	all := interaction.Request{Type: interaction.TypeCombined}
	var listed []string
	for _, n := range missing {
		q := n.question()
		q.ID, q.Required = interaction.ID(n.Name), true
		all.Interactions, listed = append(all.Interactions, q), append(listed, n.Name)
	}
	all.Title = clip("bash needs "+strings.Join(listed, ", "), interaction.MaxTitleBytes)
	all.Message = "The command gets them as variables, for this one time."
	return all
}

func (n Need) question() interaction.Request {
	q := interaction.Request{Type: interaction.TypeMissingInfo, Title: n.Name, Secret: n.Secret,
		Message: fmt.Sprintf("The command names the variable %s, which is not set. It gets it for this one time.", n.Name)}
	if n.Prompt != "" {
		q.Message = n.Prompt + " " + q.Message
	}
	return q
}

// given is a value as a person gave it: as text, as a JSON text, or under the variable's name in an object.
func given(r interaction.Response, name string) string {
	if r.Text != "" {
		return r.Text
	}
	var text string
	if json.Unmarshal(r.Data, &text) == nil {
		return text
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(r.Data, &fields) == nil && json.Unmarshal(fields[name], &text) == nil {
		return text
	}
	return ""
}

// askOrGive is needed as an outcome: what must be asked first, or nothing.
func (b bash) askOrGive(command string, call tool.Call) (env []string, first *tool.Outcome) {
	env, ask, err := b.needed(command, call.Answer)
	if err != nil {
		out, _ := tell(err)
		return nil, &out
	}
	if ask != nil {
		out := tool.Ask(*ask)
		return nil, &out
	}
	return env, nil
}
