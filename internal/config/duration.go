package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// duration returns a positive time of at most the table's limit, 0 when it is not there or wrong.
func (s *section) duration(key string) time.Duration {
	limit := s.spec(key).limit
	v, ok := s.scalar(key, "a time such as 30s")
	if !ok {
		return 0
	}
	d, err := parseDuration(v.text)
	switch {
	case err != nil:
		s.report(key, v.line, "%q is no time: write a number and a unit, such as 30s, 15m, 72h or 30d", v.raw)
		return 0
	case d <= 0 || d > limit:
		s.report(key, v.line, "must be more than 0 and at most %s, not %q", days(limit), v.raw)
		return 0
	}
	return d
}

// parseDuration is time.ParseDuration with days, since people answer in days: 30d, 1d12h.
func parseDuration(text string) (time.Duration, error) {
	count, rest, hasDays := strings.Cut(text, "d")
	if !hasDays {
		return time.ParseDuration(text)
	}
	n, err := strconv.ParseUint(count, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("the days are no whole number: %w", err)
	}
	d := time.Duration(n) * 24 * time.Hour
	if rest == "" {
		return d, nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil {
		return 0, err
	}
	return d + more, nil
}

// days is d in whole days; the limits above are.
func days(d time.Duration) string { return strconv.Itoa(int(d/(24*time.Hour))) + "d" }
