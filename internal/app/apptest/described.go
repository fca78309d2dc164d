package apptest

import (
	"io"
	"net/http"
	"sync"

	"holdpoint/api/apitest"
)

// descriptions are those that bridges gave, read once each: by the bridge's address, and by what they say.
var descriptions, read sync.Map

// Described fails the test when an answer is not as the bridge's own description of its API has it.
func (h *Holdpoint) Described(req *http.Request, resp *http.Response, body []byte) {
	h.T.Helper()
	known, ok := descriptions.Load(h.URL())
	if !ok {
		d, err := describedAt(h.URL() + "/openapi.json")
		if err != nil {
			h.T.Fatalf("the description of the API: %v", err)
		}
		known, _ = descriptions.LoadOrStore(h.URL(), d)
	}
	if err := known.(*apitest.Description).Check(req, resp.StatusCode, resp.Header.Get("Content-Type"), body); err != nil {
		h.T.Errorf("what is answered is not as it is described: %v", err)
	}
}

func describedAt(url string) (*apitest.Description, error) {
	resp, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if same, ok := read.Load(string(raw)); ok { // of another bridge
		return same.(*apitest.Description), nil
	}
	d, err := apitest.Read(raw)
	if err == nil {
		read.Store(string(raw), d)
	}
	return d, err
}
