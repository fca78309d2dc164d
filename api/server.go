package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"holdpoint/interaction"
)

// Server is the bridge as an http.Handler. Make it with New.
type Server struct {
	cfg     Config
	handler http.Handler
	mux     *patterns
	mounted map[string]bool // patterns that Mount added
	signed  map[string]bool // patterns that MountSigned added
	spec    *huma.OpenAPI
	streams chan struct{} // a place for each open event stream
	turns   turns

	origins            *http.CrossOriginProtection
	requests, failures *limits
	life               context.Context
	end                context.CancelFunc
}

// New builds the bridge. A config that lacks something is refused with the names of the fields.
func New(cfg Config) (*Server, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("http bridge: %w", err)
	}
	s := &Server{cfg: cfg.withDefaults(), mounted: map[string]bool{}, signed: map[string]bool{}}
	s.streams = make(chan struct{}, s.cfg.MaxStreams)
	if err := s.protection(); err != nil {
		return nil, fmt.Errorf("http bridge: %w", err)
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.mux = &patterns{ServeMux: http.NewServeMux()}
	h := humago.New(s.mux, humaConfig(s.cfg.Version))
	s.spec = h.OpenAPI()
	s.routes(h)
	s.exemplifyAll()
	s.mux.ServeMux.HandleFunc("GET /docs", s.docsPage()) // of the description, and so not in it
	s.handler = s.guard(s.mux.ServeMux)
	return s, nil
}

// protection makes what the guard counts and checks by.
func (s *Server) protection() (err error) {
	s.origins = http.NewCrossOriginProtection()
	for _, o := range s.cfg.CORSOrigins {
		if err := s.origins.AddTrustedOrigin(o); err != nil {
			return fmt.Errorf("CORSOrigins: %w", err)
		}
	}
	if s.requests, err = newLimits(s.cfg.RequestsPerMinute, s.cfg.Clock); err != nil {
		return err
	}
	s.failures, err = newLimits(s.cfg.FailuresPerMinute, s.cfg.Clock)
	return err
}

// ServeHTTP serves one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Close ends the open event streams, which would otherwise hold up http.Server.Shutdown; call it before that.
func (s *Server) Close() error {
	s.end()
	return nil
}

func humaConfig(version string) huma.Config {
	c := huma.DefaultConfig("Holdpoint", version)
	c.Info.Description = "A durable human-approval gate for AI agents. Errors are application/problem+json."
	c.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{"bearer": {Type: "http", Scheme: "bearer"}}
	c.Security = []map[string][]string{{"bearer": {}}}
	c.CreateHooks = nil // no $schema members in bodies
	c.SchemasPath = ""
	c.DocsPath = "" // its page loads scripts from elsewhere: see docsPage
	strict := huma.Format{Marshal: huma.DefaultJSONFormat.Marshal, Unmarshal: unmarshal}
	c.Formats = map[string]huma.Format{"application/json": strict, "json": strict}
	c.RejectUnknownQueryParameters = true // a misspelt filter must not select everything
	c.Transformers = append(c.Transformers, fromHuma(c.Components.Schemas))
	return c
}

// unmarshal refuses what encoding/json lets pass: a key that comes twice, bytes that are not UTF-8, endless depth, a zero
// that is stated where leaving it out means something.
func unmarshal(data []byte, v any) error {
	if t := reflect.TypeOf(v); t.Kind() == reflect.Pointer && t.Elem().Kind() == reflect.Struct {
		return interaction.Strict(data, v)
	}
	var object map[string]any // of what the schema is about to look at
	if err := interaction.Strict(data, &object); err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

func (s *Server) routes(h huma.API) {
	s.runRoutes(h)
	s.interactionRoutes(h)
	s.approvalRoutes(h)
	s.permissionRoutes(h)
	s.tokenRoutes(h)
	s.auditRoutes(h)
	s.healthRoutes(h)
	s.metricsRoutes(h)
}

// operation describes one call. errs are the statuses of its refusals, beside those that every call has.
func operation(h huma.API, id, method, path, summary string, status int, errs ...int) huma.Operation {
	op := huma.Operation{OperationID: id, Method: method, Path: path, Summary: summary, DefaultStatus: status,
		MaxBodyBytes: maxBody + 1, BodyReadTimeout: -1, // the guard has read the body
		Responses: map[string]*huma.Response{}}
	for _, e := range append(errs, append(everyRefusal, 422)...) { // 422: a parameter that is not known
		op.Responses[fmt.Sprint(e)] = problemResponse(h.OpenAPI(), e)
	}
	return op
}

// also describes another status that a call succeeds with.
func also[T any](h huma.API, op huma.Operation, status int, means string) huma.Operation {
	op.Responses[fmt.Sprint(status)] = &huma.Response{Description: means, Content: map[string]*huma.MediaType{
		"application/json": {Schema: h.OpenAPI().Components.Schemas.Schema(typeOf[T](), true, op.OperationID)}}}
	return op
}

// laterTaken is what 202 means of a message to a run.
const laterTaken = "Stored until a worker takes it"

// register adds a call whose errors are shown as problems; what is no problem is logged and shown as internal.
func register[I, O any](s *Server, h huma.API, op huma.Operation, fn func(context.Context, *I) (*O, error)) {
	huma.Register(h, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := fn(ctx, in)
		if err != nil {
			return nil, s.report(ctx, op.OperationID, err)
		}
		return out, nil
	})
}

func (s *Server) report(ctx context.Context, operation string, err error) *Problem {
	p, ok := asProblem(err)
	if !ok {
		s.cfg.Log.ErrorContext(ctx, "request failed", "operation", operation, "error", err)
	}
	return p
}

// now is the time as everything here is stamped with: UTC, to the microsecond that the store keeps.
func (s *Server) now() time.Time { return s.cfg.Clock().UTC().Truncate(time.Microsecond) }
