// Package telemetry measures a running Holdpoint: OpenTelemetry instruments that Prometheus can scrape, and traces that go
// out by OTLP where the standard OTEL_* variables name a place for them. It knows the activities only by the interface that
// they declare for being observed.
//
// Start at New. Metrics is what the composition root hands to the activities.
package telemetry

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otelprom "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
	"go.temporal.io/sdk/client"
	temporalotel "go.temporal.io/sdk/contrib/opentelemetry"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
)

// traceID is the name of a trace's id in the log.
const traceID = "trace_id"

// scope names Holdpoint among what is instrumented.
const scope = "holdpoint"

// Options say what is measured.
type Options struct {
	// Part is "worker", "bridge" or "dev".
	Part    string
	Version string
	// Getenv looks up the OTEL_* variables: with OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT set,
	// traces are exported, over gRPC if OTEL_EXPORTER_OTLP_PROTOCOL is "grpc", else over HTTP. The exporters read the others,
	// OTEL_EXPORTER_OTLP_HEADERS for instance, from the process's environment.
	Getenv func(string) (string, bool)
	// Failed is told what could not be measured or exported. It may be nil.
	Failed func(error)
	// Hider takes secrets out of what is exported. nil hides nothing.
	Hider Hider
}

// Telemetry is what measures one process.
type Telemetry struct {
	registry *prometheus.Registry
	meters   *sdkmetric.MeterProvider
	traces   *sdktrace.TracerProvider // nil: none are exported
	tracer   trace.Tracer
	metrics  *Metrics
	failed   func(error)
}

// New makes the instruments. An exporter that can't be reached is no error: what it misses is lost.
func New(ctx context.Context, o Options) (*Telemetry, error) {
	t := &Telemetry{registry: prometheus.NewRegistry(), failed: o.Failed, tracer: noop.NewTracerProvider().Tracer(scope)}
	if t.failed == nil {
		t.failed = func(error) {}
	}
	t.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	res, err := described(o)
	if err != nil {
		return nil, err
	}
	reader, err := otelprom.New(otelprom.WithRegisterer(t.registry), otelprom.WithoutScopeInfo())
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	t.meters = sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(res), sdkmetric.WithView(views()...))
	if err := t.trace(ctx, o, res); err != nil {
		return nil, err
	}
	if t.metrics, err = newMetrics(t.meters.Meter(scope), t.tracer, o.Hider); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	return t, nil
}

// described is what a process says of itself, where OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say nothing else.
func described(o Options) (*resource.Resource, error) {
	own := resource.NewSchemaless(attribute.String("service.name", "holdpoint-"+o.Part), attribute.String("service.version", o.Version))
	res, err := resource.Merge(own, resource.Environment())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	return res, nil
}

// views give histograms of what people and tools take buckets from milliseconds to a month, and requests the labels that are few.
func views() []sdkmetric.View {
	seconds := func(bounds ...float64) sdkmetric.Stream {
		return sdkmetric.Stream{Aggregation: sdkmetric.AggregationExplicitBucketHistogram{Boundaries: bounds}}
	}
	return []sdkmetric.View{
		sdkmetric.NewView(sdkmetric.Instrument{Name: "holdpoint.gate.open"}, seconds(1, 10, 60, 300, 1800, 3600, 4*3600, 24*3600, 7*24*3600, 30*24*3600)),
		sdkmetric.NewView(sdkmetric.Instrument{Name: "holdpoint.*.duration"}, seconds(.005, .025, .1, .5, 1, 5, 30, 120, 600, 3600)),
		// What a sender makes up, such as the Host, is no label: it may be a secret, and each value of it would stay in memory.
		sdkmetric.NewView(sdkmetric.Instrument{Name: "http.server.*"}, sdkmetric.Stream{AttributeFilter: attribute.NewAllowKeysFilter(
			"http.request.method", "http.response.status_code", "url.scheme", "network.protocol.name", "network.protocol.version")}),
	}
}

// trace begins exporting traces where the environment says so.
func (t *Telemetry) trace(ctx context.Context, o Options, res *resource.Resource) error {
	get := func(name string) string {
		if o.Getenv == nil {
			return ""
		}
		v, ok := o.Getenv(name)
		if !ok {
			return ""
		}
		return v
	}
	to, endpoint := setting(get, "ENDPOINT")
	if strings.EqualFold(get("OTEL_SDK_DISABLED"), "true") || strings.EqualFold(get("OTEL_TRACES_EXPORTER"), "none") || endpoint == "" {
		return nil
	}
	// One that is none would be taken for this machine, and nothing be said.
	if u, err := url.Parse(endpoint); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s is no URL: write it with http:// or https://, a host and a port", to)
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(t.failed))
	exporter, err := exporterTo(ctx, get, to, endpoint)
	if err != nil {
		return err
	}
	if o.Hider != nil {
		exporter = hidingExporter{exporter, o.Hider}
	}
	t.traces = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(res))
	t.tracer = t.traces.Tracer(scope)
	return nil
}

// setting is the variable that says something about traces, or about everything that is exported, and what it says.
func setting(get func(string) string, what string) (name, value string) {
	for _, name = range []string{"OTEL_EXPORTER_OTLP_TRACES_" + what, "OTEL_EXPORTER_OTLP_" + what} {
		if value = get(name); value != "" {
			break
		}
	}
	return name, value
}

// exporterTo sends to an endpoint that the variable to names, by the protocol that is set.
func exporterTo(ctx context.Context, get func(string) string, to, endpoint string) (exporter sdktrace.SpanExporter, err error) {
	switch by, protocol := setting(get, "PROTOCOL"); protocol {
	case "grpc":
		exporter, err = otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(endpoint))
	case "", "http/protobuf":
		if !strings.Contains(to, "_TRACES_") {
			endpoint = strings.TrimSuffix(endpoint, "/") + "/v1/traces"
		}
		exporter, err = otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint))
	default:
		return nil, fmt.Errorf("%s is %q: use grpc or http/protobuf", by, protocol)
	}
	if err != nil {
		return nil, fmt.Errorf("traces can't be exported: %w", err)
	}
	return exporter, nil
}

// Metrics are Holdpoint's own.
func (t *Telemetry) Metrics() *Metrics { return t.metrics }

// Handler serves the metrics in Prometheus's format.
func (t *Telemetry) Handler() http.Handler {
	return promhttp.HandlerFor(t.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4, Timeout: 10 * time.Second, EnableOpenMetrics: true})
}

// Client adds the Temporal SDK's own metrics, and traces where they are exported, to a client and its workers.
func (t *Telemetry) Client(o client.Options) (client.Options, error) {
	o.MetricsHandler = &tagged{MetricsHandler: temporalotel.NewMetricsHandler(temporalotel.MetricsHandlerOptions{
		Meter: t.meters.Meter("temporal"), OnError: t.failed, UseMonotonicCounters: true})}
	if t.traces == nil {
		return o, nil
	}
	// What a caller puts into baggage would stand in histories.
	of, err := temporalotel.NewTracer(temporalotel.TracerOptions{Tracer: t.tracer, DisableBaggage: true,
		DisableQueryTracing: true, AllowInvalidParentSpans: true, TextMapPropagator: propagation.TraceContext{}})
	if err != nil {
		return o, fmt.Errorf("traces of workflows: %w", err)
	}
	o.Interceptors = append([]interceptor.ClientInterceptor{interceptor.NewTracingInterceptor(tracer{of})}, o.Interceptors...)
	return o, nil
}

// tracer is the SDK's, but for the name of a trace's id in the lines of workflows and activities.
type tracer struct{ interceptor.Tracer }

// GetLogger adds the id of the trace.
func (tracer) GetLogger(to log.Logger, in interceptor.TracerSpanRef) log.Logger {
	if span, ok := in.(interface{ SpanContext() trace.SpanContext }); ok && span.SpanContext().HasTraceID() {
		return log.With(to, traceID, span.SpanContext().TraceID().String())
	}
	return to
}

// requestHeader has the id of a request in its answer, as the lines of the log about it have.
const requestHeader = "X-Request-Id"

type requestKey struct{}

// numbered gives each request an id. One that its sender made up would not be one.
func numbered(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		id := rand.Text()
		w.Header().Set(requestHeader, id)
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, id)))
	})
}

// HTTP numbers, traces and measures requests to h.
func (t *Telemetry) HTTP(h http.Handler) http.Handler {
	// With a name for the server, what a request calls it is in no exemplar either.
	options := []otelhttp.Option{otelhttp.WithServerName(scope), otelhttp.WithMeterProvider(t.meters), otelhttp.WithPropagators(propagation.TraceContext{}),
		otelhttp.WithFilter(func(r *http.Request) bool { return r.URL.Path != "/healthz" && r.URL.Path != "/readyz" }),
		otelhttp.WithTracerProvider(noop.NewTracerProvider())}
	if t.traces != nil {
		options = append(options, otelhttp.WithTracerProvider(t.traces))
	}
	return numbered(otelhttp.NewHandler(h, "http", options...))
}

// TraceID is the id of the trace that ctx is in; "" outside of one.
func TraceID(ctx context.Context) string {
	if c := trace.SpanContextFromContext(ctx); c.HasTraceID() {
		return c.TraceID().String()
	}
	return ""
}

// Close sends what is left to send.
func (t *Telemetry) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	err := t.meters.Shutdown(ctx)
	if t.traces != nil {
		err = errors.Join(err, t.traces.Shutdown(ctx))
	}
	return err
}
