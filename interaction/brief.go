package interaction

import (
	"maps"
	"slices"
)

// What Brief keeps of a request's free fields.
const (
	briefText     = 200 // bytes of a text
	briefMetadata = 5   // entries
)

// Brief is the request as a workflow carries it: all that Check, Apply and Expire look at, and short forms of what
// a person needs to recognise it. Arguments, details, suggestions and the options' words stay in the store, so
// that what history holds of a request is bounded. It shares no memory with r.
func (r Request) Brief() Request {
	r.ToolArgs, r.Details, r.SuggestedPattern, r.SharedCallIDs = nil, "", nil, nil
	r.ToolDigest, r.Explanation = "", ""
	r.Placeholder, r.ConfirmText, r.CancelText = "", "", ""
	r.Title = cut(r.Title, MaxTitleBytes)
	r.Message = cut(r.Message, briefText)
	r.Reason = cut(r.Reason, briefText)
	r.MatchedRule = cut(r.MatchedRule, briefText)
	r.Options = briefOptions(r.Options)
	r.Metadata = briefMap(r.Metadata)
	r.Reviewers = slices.Clone(r.Reviewers)
	r.AgentPath = slices.Clone(r.AgentPath)
	r.Interactions = slices.Clone(r.Interactions)
	for n := range r.Interactions {
		r.Interactions[n] = r.Interactions[n].Brief()
	}
	return r
}

func briefOptions(options []Option) []Option {
	out := make([]Option, len(options))
	for n, o := range options {
		out[n] = Option{ID: o.ID, Action: o.Action, Default: o.Default, RequiresInput: o.RequiresInput}
	}
	return out
}

// briefMap keeps the first entries by key, so that the same request always gives the same bytes.
func briefMap(m map[string]string) map[string]string {
	out := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if len(out) < briefMetadata && len(key) <= briefText {
			out[key] = cut(m[key], briefText)
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
