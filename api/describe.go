package api

import (
	"embed"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// Media types of the answers that are not JSON.
const (
	eventStreamMedia = "text/event-stream"
	plainMedia       = "text/plain"
)

// Route is something that is served beside the bridge's own calls, as the API's description has it.
type Route struct {
	Pattern              string // method and path, as net/http has them
	ID                   string // of the operation
	Summary, Description string
	Query                []RouteParam
	Body                 any    // of the type that is sent; nil for none
	BodyMedia            string // Defaults to application/json
	Answer               any    // of the type that is answered with JSON; nil for none
	Stream               string // what the event stream has, where the answer is one
	Status               int    // of the answer. Defaults to 200
	Refused              any    // of the type that refusals have; nil for problems
	RefusedPlain         bool   // refusals are plain text
	Errors               []int
}

// RouteParam is a parameter of a route's query.
type RouteParam struct{ Name, Means string }

// patterns keeps what is served, so that the description can be held against it.
type patterns struct {
	*http.ServeMux
	list []string
}

// HandleFunc is how huma adds its calls.
func (p *patterns) HandleFunc(pattern string, h func(http.ResponseWriter, *http.Request)) {
	p.Handle(pattern, http.HandlerFunc(h))
}

// Handle adds a route.
func (p *patterns) Handle(pattern string, h http.Handler) {
	p.list = append(p.list, pattern)
	p.ServeMux.Handle(pattern, h)
}

// Routes are the patterns of all that the bridge serves.
func (s *Server) Routes() []string { return s.mux.list }

var pathParam = regexp.MustCompile(`\{(\w+)\}`)

// describe adds a route to the API's description.
func (s *Server) describe(r Route, signed bool) {
	method, path := splitPattern(r.Pattern)
	op := huma.Operation{OperationID: r.ID, Method: method, Path: path, Summary: r.Summary, Description: r.Description, Responses: map[string]*huma.Response{}}
	for _, name := range pathParam.FindAllStringSubmatch(path, -1) {
		op.Parameters = append(op.Parameters, &huma.Param{Name: name[1], In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	for _, q := range r.Query {
		op.Parameters = append(op.Parameters, &huma.Param{Name: q.Name, In: "query", Description: q.Means, Schema: &huma.Schema{Type: huma.TypeString}})
	}
	if r.Body != nil {
		media := "application/json"
		orDefault(&r.BodyMedia, media)
		op.RequestBody = &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{r.BodyMedia: {Schema: s.schemaOf(r.Body, r.ID)}}}
	}
	orDefault(&r.Status, http.StatusOK)
	op.Responses[strconv.Itoa(r.Status)] = s.routeAnswer(r)
	for _, e := range append(r.Errors, everyRefusal...) {
		op.Responses[strconv.Itoa(e)] = s.routeRefusal(r, e)
	}
	if signed {
		op.Security = []map[string][]string{{}}
	}
	exemplify(&op)
	s.spec.AddOperation(&op)
}

func splitPattern(pattern string) (method, path string) {
	if _, err := fmt.Sscanf(pattern, "%s %s", &method, &path); err != nil {
		return http.MethodGet, pattern
	}
	return method, path
}

func (s *Server) schemaOf(v any, hint string) *huma.Schema {
	return s.spec.Components.Schemas.Schema(reflect.TypeOf(v), true, hint)
}

func (s *Server) routeAnswer(r Route) *huma.Response {
	switch {
	case r.Stream != "":
		return eventStream(r.Stream)
	case r.Answer != nil:
		return &huma.Response{Description: "What was asked for", Content: map[string]*huma.MediaType{"application/json": {Schema: s.schemaOf(r.Answer, r.ID)}}}
	default:
		return &huma.Response{Description: http.StatusText(r.Status)}
	}
}

func (s *Server) routeRefusal(r Route, status int) *huma.Response {
	out := problemResponse(s.spec, status)
	switch {
	case r.RefusedPlain:
		out.Description, out.Content[plainMedia] = http.StatusText(status), &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	case r.Refused != nil && !slices.Contains(guarded, status):
		out.Content["application/json"] = &huma.MediaType{Schema: s.schemaOf(r.Refused, r.ID)}
	}
	return out
}

// everyRefusal are the statuses that every call can be refused with.
var everyRefusal = []int{401, 403, 429, 500}[:4:4]

// guarded are the statuses by which the guard refuses, whatever is behind it.
var guarded = []int{401, 413, 415, 429}

func problemResponse(spec *huma.OpenAPI, status int) *huma.Response {
	return &huma.Response{Description: refusals(status), Content: map[string]*huma.MediaType{
		problemMedia: {Schema: spec.Components.Schemas.Schema(typeOf[Problem](), true, "Problem")}}}
}

// examples are what is sent and answered, a file for each operation. A test records them from a running bridge, and holds
// the bridge against them.
//
//go:embed examples
var examples embed.FS

// Recorded are an operation's examples: what is sent, and the answers by status and media type. A text stands for what is
// no JSON.
type Recorded struct {
	Request  json.RawMessage                       `json:"request,omitempty"`
	Response map[string]map[string]json.RawMessage `json:"response"`
}

// recorded are the examples of an operation, none where there is no file of them.
func recorded(id string) (r Recorded) {
	raw, err := examples.ReadFile("examples/" + id + ".json")
	if err != nil || json.Unmarshal(raw, &r) != nil { // a test holds each against what is answered
		return Recorded{}
	}
	return r
}

// exemplify gives an operation its examples, and each refusal that none was recorded of one of its kind.
func exemplify(op *huma.Operation) {
	known := recorded(op.OperationID)
	if op.RequestBody != nil && len(known.Request) > 0 {
		for _, m := range op.RequestBody.Content {
			m.Example = known.Request
		}
	}
	for status, r := range op.Responses {
		for media, m := range r.Content {
			example := known.Response[status][media]
			code, err := strconv.Atoi(status)
			if len(example) == 0 && (media == eventStreamMedia || media == "application/json" && code >= 400) {
				example = known.like(media, code)
			}
			if kinds := problemsOf(code); len(example) == 0 && media == problemMedia && err == nil && len(kinds) > 0 {
				example, err = json.Marshal(problem(code, kinds[0].Code, "%s", kinds[0].Means))
			}
			if len(example) > 0 && err == nil {
				m.Example = example
			}
		}
	}
}

// like is an example of another status of its kind: a success or a refusal.
func (r Recorded) like(media string, code int) json.RawMessage {
	for _, status := range slices.Sorted(maps.Keys(r.Response)) {
		if example := r.Response[status][media]; (status >= "400") == (code >= 400) && len(example) > 0 {
			return example
		}
	}
	return nil
}

// exemplifyAll gives the bridge's own calls their examples.
func (s *Server) exemplifyAll() {
	for _, p := range s.spec.Paths {
		for _, op := range []*huma.Operation{p.Get, p.Post, p.Put, p.Patch, p.Delete} {
			if op != nil {
				exemplify(op)
			}
		}
	}
}
