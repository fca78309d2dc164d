package builtin

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// maxRead is how much of a body is read, and how much of what it unpacks to.
const maxRead = 1 << 20

// fetched is what a call came to.
type fetched struct {
	trail  trail
	head   []string // the status line and some headers
	notes  []string
	body   []byte // text
	failed bool
}

func (o *fetched) note(format string, args ...any) {
	o.notes = append(o.notes, "["+fmt.Sprintf(format, args...)+"]")
}

func (o *fetched) fail(text string) {
	o.failed = true
	o.note("%s", text)
}

// outcome puts everything together. What the tool says stands before the body, whose text may say anything.
func (o *fetched) outcome(limit int) tool.Outcome {
	var lines []string
	for _, s := range o.trail.steps {
		lines = append(lines, "["+s+"]")
	}
	lines = append(append(lines, o.head...), o.notes...)
	content := clipMiddle(strings.Join(lines, "\n"), limit/2)
	if len(o.body) > 0 {
		text := newHeadTail(limit - len(content) - len("\n\n"))
		_, _ = text.Write(o.body)
		content += "\n\n" + text.String()
	}
	if o.failed {
		return tool.Failure(content)
	}
	return tool.Text(content)
}

// toldHeaders are the headers of an answer that a result has.
var toldHeaders = []string{
	"Content-Type", "Content-Length", "Content-Encoding", "Content-Range", "Last-Modified", "Etag", "Location", "Link",
	"Retry-After", "Www-Authenticate", "Allow",
}

// responseHead is the status line and the headers worth telling, a line each.
func responseHead(resp *http.Response) []string {
	lines := []string{clip(interaction.Visible(resp.Proto+" "+resp.Status), 120)}
	for _, name := range toldHeaders {
		if values := resp.Header.Values(name); len(values) > 0 {
			lines = append(lines, name+": "+clip(interaction.Visible(strings.Join(values[:min(len(values), 5)], ", ")), 200))
		}
	}
	return lines
}

// take reads an answer.
func (o *fetched) take(method string, resp *http.Response) {
	o.head = responseHead(resp)
	o.failed = resp.StatusCode >= 400
	if method == http.MethodHead || resp.StatusCode < 200 || resp.StatusCode == http.StatusNoContent || resp.StatusCode == http.StatusNotModified {
		return
	}
	raw, more, err := readAtMost(resp.Body, maxRead)
	if err != nil {
		o.fail(fmt.Sprintf("The body ended early, after %d bytes: %s.", len(raw), bodyFault(err)))
	}
	if more {
		o.note("Only the first %d bytes of the body were read.", maxRead)
	}
	raw, ok := o.unpack(resp.Header, raw, more || err != nil)
	if !ok || len(raw) == 0 {
		return
	}
	text, ok := asText(resp.Header.Get("Content-Type"), raw)
	if !ok {
		o.note("The body is not text and is not shown: %d bytes were read%s.", len(raw), lookingLike(raw))
		return
	}
	o.body = text
}

// unpack undoes gzip. partial says that the end is missing, so that its absence is no fault.
func (o *fetched) unpack(h http.Header, raw []byte, partial bool) (plain []byte, ok bool) {
	switch coding := strings.ToLower(strings.Join(h.Values("Content-Encoding"), ", ")); coding {
	case "", "identity":
		return raw, true
	case "gzip", "x-gzip":
	default:
		o.note("The body is packed and is not shown: %d bytes were read.", len(raw))
		return nil, false
	}
	if len(raw) == 0 {
		return nil, true
	}
	in, err := gzip.NewReader(bytes.NewReader(raw))
	more := false
	if err == nil {
		plain, more, err = readAtMost(in, maxRead)
	}
	if err != nil && !partial {
		o.fail("The body says it is gzip, and can't be unpacked" + upTo(len(plain)) + ".")
	}
	if more {
		o.note("Only the first %d bytes of the unpacked body were read.", maxRead)
	}
	return plain, true
}

// lookingLike says what binary bytes seem to be, where that says something.
func lookingLike(raw []byte) string {
	kind := http.DetectContentType(raw)
	if strings.HasPrefix(kind, "text/") || kind == "application/octet-stream" {
		return ""
	}
	return ", which look like " + kind
}

func upTo(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" beyond %d bytes", n)
}

// readAtMost reads up to limit bytes; more says that there are further ones.
func readAtMost(r io.Reader, limit int) (b []byte, more bool, err error) {
	b, err = io.ReadAll(io.LimitReader(r, int64(limit)+1))
	if len(b) > limit {
		return b[:limit], true, nil
	}
	return b, false, err
}

func bodyFault(err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "the time for the request was over"
	case errors.Is(err, context.Canceled):
		return "the call was stopped"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the server closed the connection"
	default:
		return "the connection failed"
	}
}

// asText returns a body as UTF-8, if it is text: by its bytes, or because it says so and nothing speaks against it.
func asText(contentType string, raw []byte) (text []byte, ok bool) {
	media, params, _ := mime.ParseMediaType(contentType)
	declared := textual(media)
	if declared {
		raw = toUTF8(params["charset"], raw)
	}
	if binary(raw) {
		return nil, false
	}
	if declared || utf8.Valid(raw[:completeRunes(raw)]) {
		return raw, true
	}
	return nil, false
}

// textual reports whether a media type is text that may be in another encoding than UTF-8.
func textual(media string) bool {
	switch media {
	case "application/json", "application/xml", "application/javascript", "application/x-www-form-urlencoded", "application/yaml":
		return true
	}
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml")
}

// toUTF8 decodes text by its byte order mark, else by the charset it names, else leaves it.
func toUTF8(charset string, raw []byte) []byte {
	fallback := encoding.Nop.NewDecoder()
	if enc, err := htmlindex.Get(charset); err == nil && charset != "" {
		fallback = enc.NewDecoder()
	}
	out, _, err := transform.Bytes(unicode.BOMOverride(fallback), raw)
	if err != nil {
		return raw
	}
	return out
}
