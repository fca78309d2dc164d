package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html/template"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// docsStyle is the page's only one; the policy names it by its hash, so that the page needs nothing else.
const docsStyle = `body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem;color-scheme:light dark}
code,pre{font-family:ui-monospace,monospace;font-size:13px}pre{overflow:auto;padding:.6rem;border:1px solid;border-radius:6px}
summary{cursor:pointer;padding:.4rem 0}summary b{display:inline-block;min-width:4.5rem}table{border-collapse:collapse}td{padding:.15rem 1rem .15rem 0;vertical-align:top}`

var docsTemplate = template.Must(template.New("docs").Parse(`<!doctype html><html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>{{.Info.Title}} API</title><style>` + docsStyle + `</style></head><body>
<h1>{{.Info.Title}} API</h1><p>{{.Info.Description}} Version {{.Info.Version}}. For programs: <a href="/openapi.json">openapi.json</a>.</p>
{{range .Calls}}<details id="{{.OperationID}}"><summary><b>{{.Method}}</b> <code>{{.Path}}</code> {{.Summary}}</summary>
{{with .Description}}<p>{{.}}</p>{{end}}
{{if .Parameters}}<h3>Parameters</h3><table>{{range .Parameters}}<tr><td><code>{{.Name}}</code></td><td>{{.In}}{{if .Required}}, required{{end}}</td><td>{{.Description}}</td></tr>{{end}}</table>{{end}}
{{range $type, $body := .RequestBody.Content}}<h3>Body, {{$type}}</h3>{{with $body.Sample}}<pre tabindex="0">{{.}}</pre>{{end}}{{end}}
<h3>Answers</h3><table>{{range $status, $r := .Responses}}<tr><td><code>{{$status}}</code></td><td>{{$r.Description}}</td><td>{{range $type, $c := $r.Content}}<code>{{$type}}</code>{{with $c.Sample}}<pre tabindex="0">{{.}}</pre>{{end}}{{end}}</td></tr>{{end}}</table>
</details>
{{end}}</body></html>
`))

// described is as much of an OpenAPI document as the page shows.
type described struct {
	Info struct{ Title, Description, Version string }
	// Paths are calls by path and by method.
	Paths map[string]map[string]describedCall
	Calls []describedCall `json:"-"`
}

type describedCall struct {
	Method, Path                      string `json:"-"`
	OperationID, Summary, Description string
	Parameters                        []struct {
		Name, In, Description string
		Required              bool
	}
	RequestBody struct{ Content map[string]describedContent }
	Responses   map[string]struct {
		Description string
		Content     map[string]describedContent
	}
}

type describedContent struct {
	Example  json.RawMessage
	Examples map[string]struct{ Value json.RawMessage }
}

// Sample is an example to read, "" where the description has none.
func (c describedContent) Sample() string {
	text := c.Example
	for _, e := range c.Examples {
		text = e.Value
	}
	var whole string
	if json.Unmarshal(text, &whole) == nil { // a stream's
		return whole
	}
	var b bytes.Buffer
	if json.Indent(&b, text, "", "  ") != nil {
		return ""
	}
	return b.String()
}

// docsPage shows the description to people. It is made when it is first asked for: everything is mounted then.
func (s *Server) docsPage() http.HandlerFunc {
	page := sync.OnceValues(s.renderDocs)
	sum := sha256.Sum256([]byte(docsStyle))
	policy := "default-src 'none'; frame-ancestors 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	return func(w http.ResponseWriter, r *http.Request) {
		text, err := page()
		if err != nil {
			s.cfg.Log.ErrorContext(r.Context(), "the API's page can't be made", "error", err)
			writeProblem(w, problem(http.StatusInternalServerError, CodeInternal, "the page can't be made; read /openapi.json"))
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", policy)
		_, _ = w.Write(text) // a reader who is gone is nobody to tell
	}
}

func (s *Server) renderDocs() ([]byte, error) {
	text, err := json.Marshal(s.spec)
	if err != nil {
		return nil, err
	}
	var d described
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	for path, calls := range d.Paths {
		for method, call := range calls {
			call.Method, call.Path = strings.ToUpper(method), path
			d.Calls = append(d.Calls, call)
		}
	}
	slices.SortFunc(d.Calls, func(a, b describedCall) int { return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method) })
	var b bytes.Buffer
	err = docsTemplate.Execute(&b, d)
	return b.Bytes(), err
}
