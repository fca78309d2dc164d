package main

import (
	"slices"
	"strconv"
	"strings"

	"holdpoint/interaction"
)

// pick lets a choice be named by what it is called, and says how a question is answered that --text, --yes or --no do not
// answer. A choice's id goes before another's label.
func pick(q interaction.Request, action string, resp *interaction.Response) error {
	if q.Type != interaction.TypeSelect {
		return nil
	}
	offered := choices(q)
	if action == "" && resp.OptionID == "" && resp.Action == "" && len(resp.Selected) == 0 {
		return usage("this is answered by a choice: --select one of %s", choiceNames(offered))
	}
	picked := slices.Clone(resp.Selected)
	for n, name := range picked {
		id, ok := choiceNamed(offered, name)
		if !ok {
			return usage("--select %q is not among the choices: use one of %s", name, choiceNames(offered))
		}
		picked[n] = id
	}
	resp.Selected = picked
	return nil
}

// choiceNamed is the choice whose id a name is, or else the only one with that label.
func choiceNamed(offered []interaction.Option, name string) (id string, ok bool) {
	var called []string
	for _, o := range offered {
		if o.ID == name {
			return name, true
		}
		if o.Label == name {
			called = append(called, o.ID)
		}
	}
	if len(called) != 1 {
		return "", false
	}
	return called[0], true
}

func choiceNames(offered []interaction.Option) string {
	names := make([]string, len(offered))
	for n, o := range offered {
		names[n] = o.ID
		if o.Label != "" && o.Label != o.ID {
			names[n] += " (" + strconv.Quote(interaction.Visible(o.Label)) + ")"
		}
	}
	return strings.Join(names, ", ")
}
