package workflows

// RunState is all that a run carries through continue-as-new.
type RunState struct {
	Turn int `json:"turn"`
}
