package api

import (
	"errors"

	"holdpoint/interaction"
)

// scanPage and maxScans bound what is read for one request when rows are filtered by who may see them. A page may
// then be short, or empty, and still have a next one.
const (
	scanPage = 200
	maxScans = 10
)

// PageQuery is in every list's query. It is exported because huma reads embedded structs only if they are.
type PageQuery struct {
	PageSize  int    `query:"page_size" minimum:"1" maximum:"200" default:"50" doc:"Items at most"`
	PageToken string `query:"page_token" maxLength:"4096" doc:"next_page_token of the page before"`
}

// newPage makes a page; its items are never null.
func newPage[T any](items []T, next string) Page[T] {
	if items == nil {
		items = []T{}
	}
	return Page[T]{Items: items, NextPageToken: next}
}

// badQuery says of a list's refusal (a token that is not its own) that the query is at fault.
func badQuery(err error) error {
	var e *interaction.Error
	if errors.As(err, &e) {
		return refusal(e, "query")
	}
	return err
}
