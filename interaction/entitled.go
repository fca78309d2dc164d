package interaction

// Entitled reports whether p is among the reviewers: by id, or by a group ("group:x"). No reviewers means anybody.
func Entitled(reviewers []string, p Principal) bool {
	return len(reviewers) == 0 || (p.ID != "" && listed(reviewers, p))
}
