package store

import (
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"strings"
)

const (
	defaultPage = 50
	maxPage     = 200
	// maxToken is far above what a token of ours needs: an id and two numbers.
	maxToken = 4 * maxIDBytes
)

// place is where a page ended: the last row's sort key.
type place struct {
	List   string `json:"l"` // which list, and a sum of its filter: a token is good for that alone
	Filter string `json:"f"`
	Number int64  `json:"n"`
	ID     string `json:"i"`
}

// page is a request for one page.
type page struct {
	size    int
	started bool // at is a place to go on from
	at      place
}

// openPage reads a page's size and token. filter is everything else that the list was asked for.
func openPage(list string, size int, token string, filter ...string) (page, error) {
	p := page{size: min(size, maxPage), at: place{List: list, Filter: sum(filter)}}
	if size < 0 {
		return p, invalid("page_size", "%d is negative: use 1 to %d", size, maxPage)
	}
	if size == 0 {
		p.size = defaultPage
	}
	if token == "" {
		return p, nil
	}
	at, ok := readToken(token)
	if !ok || at.List != list {
		return p, invalid("page_token", "it is not a token of this list: use next_page_token as it was given")
	}
	if at.Filter != p.at.Filter {
		return p, invalid("page_token", "it belongs to another filter: start again without a token")
	}
	p.started, p.at = true, at
	return p, nil
}

func readToken(token string) (at place, ok bool) {
	if len(token) > maxToken {
		return at, false
	}
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || json.Unmarshal(b, &at) != nil {
		return at, false
	}
	return at, true
}

func sum(parts []string) string {
	s := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return base64.RawURLEncoding.EncodeToString(s[:6])
}

// token is the place after a row.
func (p page) token(number int64, id string) string {
	b, err := json.Marshal(place{List: p.at.List, Filter: p.at.Filter, Number: number, ID: id})
	if err != nil { // strings and a number always have a JSON form
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// item is a listed row with its sort key.
type item[T any] struct {
	number int64
	id     string
	value  T
}

// itemOf is the row scanner for a query that selects a number, an id and the body that is bound to it.
func itemOf[T any](q queries, c sealedColumn) func(*sql.Rows) (item[T], error) {
	return func(rows *sql.Rows) (it item[T], err error) {
		var body string
		if err := rows.Scan(&it.number, &it.id, &body); err != nil {
			return it, err
		}
		it.value, err = decode[T](q, c.of(it.id), body)
		return it, err
	}
}

// cut makes a page of rows that were read one beyond its size.
func cut[T any](p page, rows []item[T]) (values []T, next string) {
	if len(rows) > p.size {
		rows = rows[:p.size]
		last := rows[len(rows)-1]
		next = p.token(last.number, last.id)
	}
	for _, r := range rows {
		values = append(values, r.value)
	}
	return values, next
}
