package main

import (
	"errors"
	"slices"
	"strings"
	"time"

	"holdpoint/interaction"
)

const groupPrefix = "group:"

// named refuses an --as that names nobody, or several.
func (f *answerFlags) named() error {
	people := 0
	for _, name := range f.as {
		if strings.TrimSpace(name) == "" {
			return usage("--as: a name is empty")
		}
		if !strings.HasPrefix(name, groupPrefix) {
			people++
		}
	}
	if len(f.as) > 0 && people != 1 {
		return usage("--as names %d people: name one, and their groups beside (alice,group:release)", people)
	}
	return nil
}

// reviewer is for whom the answer is given; nobody without --as.
func (f *answerFlags) reviewer() (who interaction.Principal) {
	for _, name := range f.as {
		if group, ok := strings.CutPrefix(name, groupPrefix); ok {
			who.Groups = append(who.Groups, group)
		} else {
			who.ID = interaction.PrincipalID(name)
		}
	}
	return who
}

// keepable refuses to keep an answer further than the question permits, in the words of the command line.
func keepable(q interaction.Request, resp interaction.Response) error {
	g := resp.Grant
	switch {
	case g == nil:
		return nil
	case q.Type != interaction.TypeToolApproval || q.Kind != "" && q.Kind != interaction.KindPermission:
		return usage("--always goes with a call that the rules ask about, and this is none: leave it out")
	case resp.Action != interaction.ActionApprove && resp.Action != interaction.ActionReject:
		return usage("--always goes with approve and reject, not with %s", resp.Action)
	case resp.Action == interaction.ActionReject || !slices.Contains([]interaction.GrantScope{"", interaction.GrantNone, interaction.GrantSession}, q.MaxGrant):
		return nil
	case q.MaxGrant == interaction.GrantSession && g.Scope == interaction.GrantUser:
		return usage("--always user: the policy lets an approval of this be kept for the session only: use --always session")
	case q.MaxGrant == interaction.GrantSession:
		return nil
	default:
		return usage("--always: the policy lets no approval of this be kept (max_grant: none): approve it alone, by leaving --always out")
	}
}

// entitling says how to answer what the caller may not answer in their own name.
func entitling(err error) string {
	var refused *refusedError
	if !errors.As(err, &refused) {
		return ""
	}
	for _, f := range refused.problem.Errors {
		switch {
		case f.Location == "body.reviewer" && strings.Contains(refused.problem.Detail, "answering for another"):
			return ": --as needs a token with that role, such as that of holdpoint dev, or one by holdpoint token create --role act_for"
		case strings.HasPrefix(f.Location, "body.reviewer"):
			return ": give the token of one of them, or answer for one by --as NAME with a token that may act for others"
		}
	}
	return ""
}

// lasting puts on a response what holds beyond it: who is asked instead, and what is kept as a rule; and until when.
func (f *answerFlags) lasting(resp *interaction.Response, now time.Time) error {
	if len(f.to) > 0 {
		resp.To = f.to
	}
	until, err := f.end(now)
	switch {
	case err != nil:
		return err
	case f.always == "" && (len(f.patterns) > 0 || f.uses != 0):
		return usage("--pattern and --uses belong to --always: say for what, session or user")
	case f.always == "":
		resp.Until = firstSet(until, resp.Until)
		return nil
	}
	scope := interaction.GrantScope(f.always)
	if scope != interaction.GrantSession && scope != interaction.GrantUser {
		return usage("--always %s: use session or user", f.always)
	}
	resp.Grant = &interaction.Grant{Scope: scope, Patterns: f.patterns, ExpiresAt: until, MaxUses: f.uses}
	return nil
}

// firstSet is the first that is set.
func firstSet(a, b time.Time) time.Time {
	if a.IsZero() {
		return b
	}
	return a
}

// end reads --until; zero where it is not given.
func (f *answerFlags) end(now time.Time) (time.Time, error) {
	if f.until == "" {
		return time.Time{}, nil
	}
	if d, err := interaction.ParseSpan(f.until); err == nil && d > 0 {
		return now.Add(d).UTC().Truncate(time.Second), nil
	}
	t, err := time.Parse(time.RFC3339, f.until)
	if err != nil {
		return t, usage("--until: %q is neither a time such as 2026-05-01T12:00:00Z nor a length such as 4h or 7d", f.until)
	}
	return t, nil
}
