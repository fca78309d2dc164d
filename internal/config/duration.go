package config

import (
	"time"

	"holdpoint/interaction"
)

// duration returns a positive time of at most the table's limit, 0 when it is not there or wrong.
func (s *section) duration(key string) time.Duration {
	limit := s.spec(key).limit
	v, ok := s.scalar(key, "a time such as 30s")
	if !ok {
		return 0
	}
	d, err := interaction.ParseSpan(v.text)
	switch {
	case err != nil:
		s.report(key, v.line, "%q is no time: write a number and a unit, such as 30s, 15m, 72h or 30d", v.raw)
		return 0
	case d <= 0 || d > limit:
		s.report(key, v.line, "must be more than 0 and at most %s, not %q", interaction.FormatSpan(limit), v.raw)
		return 0
	}
	return d
}
