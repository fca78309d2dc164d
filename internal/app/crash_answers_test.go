package app_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"holdpoint/event"
	"holdpoint/interaction"
)

func TestAnswersSentWhileTheProcessIsKilledAreAppliedOnce(t *testing.T) {
	t.Parallel()
	sideBySide(t,
		subtest{"worker", func(t *testing.T) { killedWhileAnswered(t, workerAlone) }},
		subtest{"whole process", func(t *testing.T) { killedWhileAnswered(t, wholeDev) }})
}

// killedWhileAnswered answers several runs at once, again and again, and kills the process when the first answer
// has been acknowledged: the others are on their way. What was acknowledged is never sent again and must have
// arrived; everything else is sent again with the same ids.
func killedWhileAnswered(t *testing.T, r role) {
	c := newCrash(t, r, crashScript, noThirteen)
	c.start()
	const n = 8
	for i := range n {
		c.begin(fmt.Sprintf("safe %d", i))
	}
	for _, run := range c.runs {
		c.Waits(run, 1)
	}
	asked := c.Pending("")
	s := c.approveAll(asked)
	select {
	case <-s.first:
	case <-c.exited:
	}
	c.kill()
	close(s.over)
	c.restart() // the bridge beside a worker still tries to deliver
	s.wg.Wait()
	for _, a := range asked {
		if !slices.Contains(s.acknowledged, a.ID) {
			c.says(interaction.ActionApprove, a.ID, reviewer1)
		}
	}
	for _, a := range asked {
		if end := c.Ended(a.RunID); end.Status != "completed" || !strings.Contains(end.Output, `did {"n":2}`) {
			t.Errorf("it ended %s with %q", end.Status, end.Output)
		}
		c.says(interaction.ActionApprove, a.ID, reviewer1) // once more, when all is over
		c.answeredOnce(a.RunID)
	}
	c.audit()
}

// answeredOnce checks that a run asked once and that one answer was applied.
func (c *crash) answeredOnce(run interaction.RunID) {
	c.t.Helper()
	var list struct {
		Items []interaction.Interaction `json:"items"`
	}
	c.Get("/v1/interactions?page_size=200&run_id="+string(run), &list)
	if len(list.Items) != 1 || len(list.Items[0].Responses) != 1 {
		c.t.Errorf("run %s has %d interactions: %+v", run, len(list.Items), list.Items)
	}
	n := 0
	for _, e := range c.Events(run) {
		if e.Type == event.InteractionResponse {
			n++
		}
	}
	if n != 1 {
		c.t.Errorf("the record of run %s has %d answers", run, n)
	}
}

// approveAll approves each of the interactions, all at once.
func (c *crash) approveAll(asked []interaction.Request) *senders {
	s := &senders{bridge: c.URL(), token: c.Token(), first: make(chan struct{}), over: make(chan struct{})}
	for _, a := range asked {
		s.wg.Go(func() { s.send(a.ID) })
	}
	return s
}

// senders send each answer until it is acknowledged, or until it is over.
type senders struct {
	bridge, token string
	first         chan struct{} // closed when one has been acknowledged
	over          chan struct{}
	wg            sync.WaitGroup
	mu            sync.Mutex
	acknowledged  []interaction.ID
}

func (s *senders) send(id interaction.ID) {
	body, err := json.Marshal(answerOf(interaction.ActionApprove, id, reviewer1))
	if err != nil {
		return
	}
	for {
		if s.once(id, body) {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.acknowledged = append(s.acknowledged, id); len(s.acknowledged) == 1 {
				close(s.first)
			}
			return
		}
		select {
		case <-s.over:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// once reports whether the bridge took the answer: applied, or stored for when a worker comes.
func (s *senders) once(id interaction.ID, body []byte) bool {
	req, err := http.NewRequest(http.MethodPost, s.bridge+"/v1/interactions/"+string(id)+"/respond", bytes.NewReader(body))
	if err != nil {
		return false
	}
	req.Header.Set("Authorization", "Bearer "+s.token)
	req.Header.Set("Content-Type", "application/json")
	client := http.Client{Timeout: 30 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		return false // it was killed
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK || resp.StatusCode == http.StatusAccepted
}
