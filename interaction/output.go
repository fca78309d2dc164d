package interaction

import "slices"

// An output that waits to be released is in the request's details, and in what reviewers write in its place. Both are for
// those who may answer; streams, records and other readers get the rest.

// WithoutOutput returns the request without the output that it is about.
func (r Request) WithoutOutput() Request {
	if r.Kind == KindResult {
		r.Details = ""
	}
	return r
}

// WithoutOutput returns the interaction without the output and the texts that were written in its place.
func (i Interaction) WithoutOutput() Interaction {
	if i.Request.Kind == KindResult {
		i.Request, i.Responses = i.Request.WithoutOutput(), WithoutTexts(i.Responses)
	}
	return i
}

// WithoutTexts returns responses without what was written in an output's place.
func WithoutTexts(responses []Response) []Response {
	responses = slices.Clone(responses)
	for n := range responses {
		responses[n].Text = ""
	}
	return responses
}
