package main

import (
	"cmp"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"holdpoint/api"
	"holdpoint/interaction"
)

// minPrefix is how much of an id must be typed: a slip of one key must not name something.
const minPrefix = 4

// idParts splits "<run>-<turn>-<index>-<n>" into the run and the rest.
var idParts = regexp.MustCompile(`^(.+)-(\d+-\d+-\d+)$`)

// shortID is an id with its run cut to its first characters. It always has its last parts, which tell apart the
// interactions of a run: one that was answered meanwhile can't be mistaken for the next.
func shortID(id interaction.ID) string {
	const runPart = 8
	m := idParts.FindStringSubmatch(string(id))
	if m == nil || len(m[1]) <= runPart {
		return string(id)
	}
	return m[1][:runPart] + "-" + m[2]
}

// shortIDs gives each id its short form, or the whole where two would look alike.
func shortIDs(list []api.Interaction) map[interaction.ID]string {
	count := map[string]int{}
	for _, it := range list {
		count[shortID(it.ID)]++
	}
	out := map[interaction.ID]string{}
	for _, it := range list {
		if out[it.ID] = shortID(it.ID); count[out[it.ID]] > 1 {
			out[it.ID] = string(it.ID)
		}
	}
	return out
}

// names reports whether ref stands for id: the id itself, its beginning, its last three parts, or the beginning of
// its run with its last three parts.
func names(ref string, id interaction.ID) bool {
	full := string(id)
	if ref == full {
		return true
	}
	if len(ref) >= minPrefix && strings.HasPrefix(full, ref) {
		return true
	}
	m := idParts.FindStringSubmatch(full)
	if m == nil {
		return false
	}
	if ref == m[2] {
		return true
	}
	r := idParts.FindStringSubmatch(ref)
	return r != nil && r[2] == m[2] && len(r[1]) >= minPrefix && strings.HasPrefix(m[1], r[1])
}

// find returns the interaction that ref stands for. Among what waits, an exact id wins; else exactly one must fit.
// Something that is closed is found by its exact id, or where nothing that waits fits.
//
// strict is for answers: a ref that also fits something closed is refused, because the person may have that one in
// mind, and an approval must not land on what they never saw.
func (cl *client) find(ctx context.Context, ref string, strict bool) (api.Interaction, error) {
	waiting, more, err := cl.waiting(ctx, "")
	if err != nil {
		return api.Interaction{}, err
	}
	fits := matching(ref, waiting)
	switch {
	case len(fits) == 1 && (string(fits[0].ID) == ref || !strict && !more):
		return fits[0], nil
	case len(fits) == 1 && !more:
		return cl.onlyOne(ctx, ref, fits[0])
	case len(fits) > 1:
		return api.Interaction{}, ambiguous(ref, fits)
	}
	it, err := cl.interaction(ctx, interaction.ID(ref))
	if code(err) != api.CodeNotFound {
		return it, err
	}
	return cl.findClosed(ctx, ref)
}

// sureOfRun is how much of a run's id tells it apart from every other.
const sureOfRun = 8

// onlyOne checks that a short form fits nothing else that is known, closed or not. Where it names the run well
// enough, that is what the run has asked.
func (cl *client) onlyOne(ctx context.Context, ref string, it api.Interaction) (api.Interaction, error) {
	run := it.RunID
	if len(run) < sureOfRun || !strings.HasPrefix(ref, string(run)[:sureOfRun]) {
		run = ""
	}
	all, more, err := cl.interactions(ctx, "", run)
	if err != nil {
		return api.Interaction{}, err
	}
	if fits := matching(ref, all); len(fits) != 1 || fits[0].ID != it.ID {
		return api.Interaction{}, ambiguous(ref, fits)
	}
	if more {
		return api.Interaction{}, fmt.Errorf("%q may fit older interactions too: type %s", ref, shortID(it.ID))
	}
	return it, nil
}

// findClosed looks among what is closed, so that an answer that comes too late is told what was decided.
func (cl *client) findClosed(ctx context.Context, ref string) (api.Interaction, error) {
	all, _, err := cl.interactions(ctx, "", "")
	if err != nil {
		return api.Interaction{}, err
	}
	all = slices.DeleteFunc(all, func(it api.Interaction) bool { return !it.Status.Final() })
	fits := matching(ref, all)
	switch len(fits) {
	case 0:
		return api.Interaction{}, fmt.Errorf("no interaction fits %q: `%s inbox%s` lists what waits", ref, cl.line, cl.flags)
	case 1:
		return fits[0], nil
	}
	return api.Interaction{}, ambiguous(ref, fits)
}

func matching(ref string, list []api.Interaction) []api.Interaction {
	var fits []api.Interaction
	for _, it := range list {
		if string(it.ID) == ref {
			return []api.Interaction{it}
		}
		if names(ref, it.ID) {
			fits = append(fits, it)
		}
	}
	return fits
}

// ambiguous lists what a ref may mean.
func ambiguous(ref string, fits []api.Interaction) error {
	const most = 20
	var b strings.Builder
	fmt.Fprintf(&b, "%q fits %d interactions; type more of the one you mean:", ref, len(fits))
	short := shortIDs(fits)
	for n, it := range fits {
		if n == most {
			fmt.Fprintf(&b, "\n  and %d more", len(fits)-most)
			break
		}
		fmt.Fprintf(&b, "\n  %s  %-8s  %s", short[it.ID], it.Status, interaction.Visible(it.Title))
	}
	return fmt.Errorf("%s", b.String())
}

func compareIDs(a, b interaction.ID) int { return cmp.Compare(a, b) }
