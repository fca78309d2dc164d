// Package apitest holds what a bridge answers against the description of its API: every status, media type and body that a
// test gets must be one that the description tells of.
package apitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Description is an OpenAPI document. Its methods may be used by many goroutines at once.
type Description struct {
	mux      *http.ServeMux
	ops      map[string]Operation // by pattern
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema
}

// Operation is a call.
type Operation struct {
	ID, Method, Path string
	Request          map[string]bool            // by media type
	Responses        map[string]map[string]bool // by status and media type
	examples         []example
}

type example struct {
	place string // JSON pointer of the media type
	value json.RawMessage
	media string
}

type document struct {
	Paths map[string]map[string]struct {
		OperationID string `json:"operationId"`
		RequestBody struct {
			Content map[string]media `json:"content"`
		} `json:"requestBody"`
		Responses map[string]struct {
			Description string           `json:"description"`
			Content     map[string]media `json:"content"`
		} `json:"responses"`
	} `json:"paths"`
}

type media struct {
	Example json.RawMessage `json:"example"`
}

const name = "https://holdpoint.invalid/openapi.json"

// Read reads a description.
func Read(raw []byte) (*Description, error) {
	var doc document
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	d := &Description{mux: http.NewServeMux(), ops: map[string]Operation{}, compiled: map[string]*jsonschema.Schema{}, compiler: jsonschema.NewCompiler()}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	if err := d.compiler.AddResource(name, value); err != nil {
		return nil, err
	}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			o := Operation{ID: op.OperationID, Method: strings.ToUpper(method), Path: path, Request: map[string]bool{}, Responses: map[string]map[string]bool{}}
			at := "/paths/" + escaped(path) + "/" + method
			for m, c := range op.RequestBody.Content {
				o.Request[m] = true
				o.add(at+"/requestBody/content/"+escaped(m), m, c.Example)
			}
			for status, r := range op.Responses {
				o.Responses[status] = map[string]bool{}
				for m, c := range r.Content {
					o.Responses[status][m] = true
					o.add(at+"/responses/"+status+"/content/"+escaped(m), m, c.Example)
				}
			}
			pattern := o.Method + " " + path
			d.ops[pattern] = o
			d.mux.HandleFunc(pattern, func(http.ResponseWriter, *http.Request) {})
		}
	}
	return d, nil
}

func (o *Operation) add(place, media string, value json.RawMessage) {
	o.examples = append(o.examples, example{place, value, media})
}

func escaped(s string) string {
	return strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D", " ", "%20", ";", "%3B").Replace(s)
}

// Operations are all calls, ordered by id.
func (d *Description) Operations() []Operation {
	var out []Operation
	for _, o := range d.ops {
		out = append(out, o)
	}
	slices.SortFunc(out, func(a, b Operation) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Find is the call that a request is; ok is false for one that is not described.
func (d *Description) Find(r *http.Request) (Operation, bool) {
	_, pattern := d.mux.Handler(r)
	o, ok := d.ops[pattern]
	return o, ok
}

// guarded are the statuses by which the guard before all calls refuses: what it can't tell, or what can't be a call.
var guarded = []int{http.StatusMethodNotAllowed, http.StatusNotAcceptable, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType,
	http.StatusTooManyRequests, http.StatusUnauthorized, http.StatusForbidden, http.StatusServiceUnavailable, http.StatusBadRequest}

// Check says what about an answer is not as it is described. A request for what is no call is answered with a problem.
func (d *Description) Check(r *http.Request, status int, contentType string, body []byte) error {
	o, ok := d.Find(r)
	if !ok {
		return nil
	}
	where := fmt.Sprintf("%s (%s): %d %s", o.ID, r.URL.Path, status, contentType)
	medias, ok := o.Responses[strconv.Itoa(status)]
	if !ok {
		if slices.Contains(guarded, status) && contentType == "application/problem+json" {
			return d.valid("#/components/schemas/Problem", body)
		}
		return fmt.Errorf("%s is not described", where)
	}
	if len(medias) == 0 && len(body) == 0 {
		return nil
	}
	m, ok := described(medias, contentType)
	if !ok {
		return fmt.Errorf("%s is not a described media type", where)
	}
	if m != "application/json" && m != "application/problem+json" {
		return nil
	}
	place := "#/paths/" + escaped(o.Path) + "/" + strings.ToLower(o.Method) + "/responses/" + strconv.Itoa(status) + "/content/" + escaped(m) + "/schema"
	if err := d.valid(place, body); err != nil {
		return fmt.Errorf("%s: %w\n%.2000s", where, err, body)
	}
	return nil
}

func described(medias map[string]bool, contentType string) (string, bool) {
	if medias[contentType] {
		return contentType, true
	}
	m, _, err := mime.ParseMediaType(contentType)
	return m, err == nil && medias[m]
}

func (d *Description) valid(place string, body []byte) error {
	d.mu.Lock()
	s, known := d.compiled[place]
	if !known {
		var err error
		if s, err = d.compiler.Compile(name + place); err != nil {
			d.mu.Unlock()
			return fmt.Errorf("the schema at %s can't be read: %w", place, err)
		}
		d.compiled[place] = s
	}
	d.mu.Unlock()
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("it is no JSON: %w", err)
	}
	return s.Validate(value)
}

// CheckExamples says which calls have bodies without an example, or with one that breaks the schema.
func (d *Description) CheckExamples() error {
	var errs []error
	for _, o := range d.Operations() {
		for _, e := range o.examples {
			switch {
			case len(e.value) == 0 || string(e.value) == "null":
				errs = append(errs, fmt.Errorf("%s: %s has no example", o.ID, e.place))
			case strings.HasSuffix(e.media, "json"):
				if err := d.valid("#"+e.place+"/schema", e.value); err != nil {
					errs = append(errs, fmt.Errorf("%s: the example at %s: %w", o.ID, e.place, err))
				}
			}
		}
	}
	return errors.Join(errs...)
}
