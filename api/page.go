package api

import (
	"errors"

	"holdpoint/interaction"
)

// scanPage and maxScans bound what is read for one request when rows are filtered by who may see them. A page may
// then be short, or empty, and still have a next one.
const (
	scanPage = 200
	maxScans = 100
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

// listing is a list of which each caller is shown what they may see.
type listing[T, V any] struct {
	read func(size int, token string) (rows []T, next string, err error)
	show func(row T) (v V, ok bool, err error)
}

// page is the next size rows that the caller may see, and the token of the rest, "" where there is nothing more that they
// may. A token names the row that it comes after, so a page ends at one that was shown: by a token, or by a page that is
// short, nobody learns of what they may not see. Only after more hidden rows in a row than are read for one request does
// it come to that.
func (l listing[T, V]) page(size int, token string) (items []V, next string, err error) {
	for step, reads := size, 0; reads < maxScans; reads++ {
		rows, after, err := l.read(step, token)
		if err != nil {
			return nil, "", err
		}
		seen, ends, err := l.seen(rows)
		if err != nil {
			return nil, "", err
		}
		want := size - len(items)
		switch {
		case len(seen) < want || len(seen) == want && after == "":
			if items, token, step = append(items, seen...), after, min(scanPage, 2*step); after == "" {
				return items, "", nil
			}
		case ends[want-1] < len(rows)-1: // the page ends within what was read: up to there it is read again, for the token
			step = ends[want-1] + 1
		default:
			items = append(items, seen[:want]...)
			return l.unlessLast(items, after, reads)
		}
	}
	return items, token, nil
}

// seen are the rows that may be seen, and their places.
func (l listing[T, V]) seen(rows []T) (seen []V, places []int, err error) {
	for n, row := range rows {
		v, ok, err := l.show(row)
		if err != nil {
			return nil, nil, err
		}
		if ok {
			seen, places = append(seen, v), append(places, n)
		}
	}
	return seen, places, nil
}

// unlessLast leaves the token out where nothing follows that the caller may see.
func (l listing[T, V]) unlessLast(items []V, next string, reads int) ([]V, string, error) {
	for step, token := 1, next; token != "" && reads < maxScans; reads++ {
		rows, after, err := l.read(step, token)
		if err != nil {
			return nil, "", err
		}
		if seen, _, err := l.seen(rows); err != nil || len(seen) > 0 {
			return items, next, err
		}
		if token, step = after, min(scanPage, 8*step); after == "" {
			return items, "", nil
		}
	}
	return items, next, nil
}
