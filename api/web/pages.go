package web

import (
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"strings"
	"time"

	"holdpoint/interaction"
)

//go:embed templates/*.html
var templates embed.FS

//go:embed static
var static embed.FS

func parsePages() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{
		"line": func(v any) template.HTML { return line(fmt.Sprint(v)) }, "lines": func(v any) template.HTML { return lines(fmt.Sprint(v)) },
		"shell": shell, "age": age, "left": left, "stamp": stamp, "iso": func(t time.Time) string { return t.UTC().Format(time.RFC3339) },
		"short": func(v any) string { return short(fmt.Sprint(v)) }, "join": join, "dict": dict, "words": words, "bytes": sizeText,
		"path": path, "inc": func(n int) int { return n + 1 },
	}).ParseFS(templates, "templates/*.html")
}

// files serves what pages load. It is the same for everyone and changes with the binary alone.
func (s *Server) files() http.Handler {
	sub, err := fs.Sub(static, "static")
	if err != nil {
		panic("web: no static files in the binary") // embedded: it can't be
	}
	files := http.StripPrefix("/static/", http.FileServerFS(sub))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Cache-Control", "no-cache")
		files.ServeHTTP(w, r)
	})
}

// age is a duration in its largest unit.
func age(since, now time.Time) string { return span(now.Sub(since)) }

func span(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

func left(until, now time.Time) string {
	d := until.Sub(now)
	switch {
	case d <= 0:
		return "passed"
	case d < time.Hour:
		return fmt.Sprintf("%d:%02d", int(d.Minutes()), int(d.Seconds())%60)
	default:
		return span(d)
	}
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// short is the end of an id that tells it apart in a list.
func short(id string) string {
	if len(id) > 36 && id[8] == '-' && id[36] == '-' {
		return id[:8] + "…" + id[36:]
	}
	if len(id) > 13 {
		return id[:8]
	}
	return id
}

func join(list any, sep string) string {
	switch l := list.(type) {
	case []string:
		return strings.Join(l, sep)
	case []interaction.PrincipalID:
		out := make([]string, len(l))
		for n, p := range l {
			out[n] = string(p)
		}
		return strings.Join(out, sep)
	default:
		return fmt.Sprint(list)
	}
}

// dict lets a template hand several values to another.
func dict(pairs ...any) (map[string]any, error) {
	out := map[string]any{}
	for n := 0; n+1 < len(pairs); n += 2 {
		key, ok := pairs[n].(string)
		if !ok {
			return nil, fmt.Errorf("dict: key %v is no string", pairs[n])
		}
		out[key] = pairs[n+1]
	}
	return out, nil
}

// words makes a stable name readable: awaiting_human is "awaiting human".
func words(v any) string { return strings.ReplaceAll(fmt.Sprint(v), "_", " ") }

func sizeText(n int) string {
	if n < 10<<10 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}
