package builtin

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"holdpoint/tool"
)

// answers gives a body with headers: name, value, name, value.
func answers(body []byte, headers ...string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			rw.Header().Set(headers[i], headers[i+1])
		}
		_, _ = rw.Write(body)
	}
}

func packed(t *testing.T, plain io.Reader) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.Copy(w, plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFetchShowsText(t *testing.T) {
	b := browse(t)
	zipped := packed(t, strings.NewReader("unpacked"))
	png := append([]byte("\x89PNG\r\n\x1a\n"), make([]byte, 100)...)
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string // behind the headers
	}{
		"plain":                  {answers([]byte("a\x00b"[:1]), "Content-Type", "text/plain"), "\n\na"},
		"nothing":                {answers(nil, "Content-Type", "text/plain"), "Content-Length: 0"},
		"no type":                {answers([]byte("text"), "Content-Type", ""), "\n\ntext"},
		"a wrong type":           {answers([]byte("text"), "Content-Type", "image/png"), "\n\ntext"},
		"Latin-1":                {answers([]byte("gr\xfc\xdfe"), "Content-Type", "text/html; charset=ISO-8859-1"), "\n\ngrüße"},
		"an unknown charset":     {answers([]byte("gr\xfc"), "Content-Type", "text/html; charset=klingon"), "\n\ngr\uFFFD"},
		"no charset":             {answers([]byte("gr\xfc"), "Content-Type", "application/json"), "\n\ngr\uFFFD"},
		"UTF-16":                 {answers([]byte("h\x00i\x00"), "Content-Type", "text/plain; charset=utf-16le"), "\n\nhi"},
		"a byte order mark":      {answers([]byte("\xfe\xff\x00h\x00i"), "Content-Type", "text/plain"), "\n\nhi"},
		"UTF-8 with its mark":    {answers([]byte("\xef\xbb\xbfhi"), "Content-Type", "application/problem+json"), "\n\nhi"},
		"gzip":                   {answers(zipped, "Content-Encoding", "gzip", "Content-Type", "text/plain"), "\n\nunpacked"},
		"GZIP":                   {answers(zipped, "Content-Encoding", "X-GZIP"), "\n\nunpacked"},
		"an image":               {answers(png, "Content-Type", "image/png"), "\n[The body is not text and is not shown: 108 bytes were read, which look like image/png.]"},
		"bytes without a type":   {answers([]byte("\xff\xfe\xfd"), "Content-Type", ""), "\n[The body is not text and is not shown: 3 bytes were read.]"},
		"a lie":                  {answers([]byte("a\x00b"), "Content-Type", "text/plain"), "\n[The body is not text and is not shown: 3 bytes were read.]"},
		"packed another way":     {answers([]byte("xyz"), "Content-Encoding", "br"), "\n[The body is packed and is not shown: 3 bytes were read.]"},
		"packed twice":           {answers(zipped, "Content-Encoding", "gzip, gzip"), fmt.Sprintf("\n[The body is packed and is not shown: %d bytes were read.]", len(zipped))},
		"gzip of gzip":           {answers(packed(t, bytes.NewReader(zipped)), "Content-Encoding", "gzip"), "\n[The body is not text and is not shown: 32 bytes were read, which look like application/x-gzip.]"},
		"a note in the body":     {answers([]byte("[Only a joke.]"), "Content-Type", "text/plain"), "\n\n[Only a joke.]"},
		"a note in the headers":  {answers([]byte("x"), "Content-Type", "text/plain", "Link", "[2Ja\u202eb"), "Link: [2Ja\\u202eb\n\nx"},
		"many links are clipped": {answers([]byte("x"), "Link", strings.Repeat("y", 5000)), "Link: " + strings.Repeat("y", 197) + "…\n\nx"},
	} {
		w := serve(t, tt.answer)
		got := b.get(w.URL)
		if got.Status != tool.StatusSuccess || !strings.HasSuffix(got.Content, tt.want) {
			t.Errorf("%s: got %s %q, want %q", name, got.Status, got.Content, tt.want)
		}
		if enc := w.requests()[0].header.Get("Accept-Encoding"); enc != "gzip" {
			t.Errorf("what is accepted is %q", enc)
		}
	}
	w := serve(t, says("part"))
	b.run(args{"url": w.URL, "headers": args{"Range": "bytes=0-3"}})
	if enc := w.requests()[0].header.Get("Accept-Encoding"); enc != "identity" {
		t.Errorf("of a part, what is accepted is %q", enc)
	}
}

func TestFetchBoundsWhatItReads(t *testing.T) {
	b := browse(t)
	sent := make(chan int, 1)
	w := serve(t, func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "text/plain")
		n := 0
		for line := 0; n < 1<<30; line++ {
			k, err := fmt.Fprintf(rw, "line %d żółć\n", line)
			if n += k; err != nil {
				break
			}
		}
		sent <- n
	})
	got := b.get(w.URL)
	wantPart(t, got, tool.StatusSuccess, "\n[Only the first 1048576 bytes of the body were read.]\n\nline 0 żółć\n", " bytes left out …\n")
	if n := len(got.Content); n < 60_000 || n > tool.MaxContentBytes || !utf8.ValidString(got.Content) {
		t.Errorf("the result has %d bytes", n)
	}
	if n := <-sent; n > 64<<20 {
		t.Errorf("the server could send %d bytes", n)
	}
}

// zeros is endless.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// spaces is endless text.
type spaces struct{}

func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func TestFetchUnpacksWithBounds(t *testing.T) {
	b := browse(t)
	text := packed(t, io.LimitReader(spaces{}, 64<<20)) // a thousandth of what it unpacks to
	wantPart(t, b.get(serve(t, answers(text, "Content-Encoding", "gzip")).URL), tool.StatusSuccess,
		"[Only the first 1048576 bytes of the unpacked body were read.]", "left out …\n   ")
	dark := packed(t, io.LimitReader(zeros{}, 64<<20))
	wantPart(t, b.get(serve(t, answers(dark, "Content-Encoding", "gzip", "Content-Type", "text/plain")).URL), tool.StatusSuccess,
		"of the unpacked body were read", "not shown: 1048576 bytes were read.]")
	empty := packed(t, strings.NewReader("")) // unpacks to nothing, for ever
	w := serve(t, answers(bytes.Repeat(empty, 1+(4<<20)/len(empty)), "Content-Encoding", "gzip"))
	wantPart(t, b.get(w.URL), tool.StatusSuccess, "[Only the first 1048576 bytes of the body were read.]")
	whole := packed(t, strings.NewReader("the beginning and the end"))
	wantPart(t, b.get(serve(t, answers(whole[:len(whole)-8], "Content-Encoding", "gzip")).URL), tool.StatusError,
		"[The body says it is gzip, and can't be unpacked beyond 25 bytes.]\n\nthe beginning and the end")
	wantPart(t, b.get(serve(t, answers([]byte("no gzip"), "Content-Encoding", "gzip")).URL), tool.StatusError,
		"[The body says it is gzip, and can't be unpacked.]")
}

func TestFetchShowsWhatCameOfABodyThatEndedEarly(t *testing.T) {
	b := browse(t)
	wantPart(t, b.get(serve(t, func(rw http.ResponseWriter, _ *http.Request) {
		raw(rw, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nthe beginning")
	}).URL), tool.StatusError, "HTTP/1.1 200 OK", "[The body ended early, after 13 bytes: the server closed the connection.]\n\nthe beginning")
	wantPart(t, b.get(serve(t, func(rw http.ResponseWriter, _ *http.Request) {
		raw(rw, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nstart\r\nzz\r\n")
	}).URL), tool.StatusError, "after 5 bytes: the connection failed.]\n\nstart")
	b.cfg.Timeout = 2 * time.Second                               // the first drop comes within it, however busy the machine is
	w := serve(t, func(rw http.ResponseWriter, r *http.Request) { // a drop now and then, for ever
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-r.Context().Done():
				return
			case <-tick.C:
				_, _ = io.WriteString(rw, "drop ")
				_ = http.NewResponseController(rw).Flush()
			}
		}
	})
	begun := time.Now()
	wantPart(t, b.get(w.URL), tool.StatusError, "HTTP/1.1 200 OK", "the time for the request was over.]\n\ndrop drop ")
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
}

func TestFetchKeepsToASmallLimit(t *testing.T) {
	b := browse(t)
	b.cfg.MaxOutput = 1 // becomes the least that is possible
	long := strings.Repeat("z", 190)
	var headers []string
	for _, name := range toldHeaders {
		if name != "Content-Length" && name != "Content-Encoding" && name != "Location" {
			headers = append(headers, name, long)
		}
	}
	w := serve(t, answers(bytes.Repeat([]byte("y"), 10_000), headers...))
	if got := b.get(w.URL); len(got.Content) > minOutput || !strings.HasPrefix(got.Content, "HTTP/1.1 200") || !strings.HasSuffix(got.Content, "yyyy") {
		t.Errorf("got %d bytes: %q", len(got.Content), got.Content)
	}
}
