package apptest

import "holdpoint/interaction"

// Ended waits for a run's end and returns it.
func (h *Holdpoint) Ended(id interaction.RunID) (v RunView) {
	h.T.Helper()
	h.Eventually("run "+string(id)+" to end", func() bool {
		v = h.Show(id)
		return v.Status == "completed" || v.Status == "failed" || v.Status == "aborted"
	})
	h.recordHolds(id)
	return v
}

// recordHolds has the bridge verify a run's record: whatever a test is about, nothing that it does may look like tampering.
func (h *Holdpoint) recordHolds(id interaction.RunID) {
	h.T.Helper()
	var record struct {
		Holds bool   `json:"holds"`
		Fault string `json:"fault"`
	}
	if h.Get("/v1/runs/"+string(id)+"/verification", &record); !record.Holds {
		h.T.Errorf("the record of run %s does not hold: %s", id, record.Fault)
	}
}
