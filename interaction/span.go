package interaction

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// ParseSpan reads a length of time as people write one: time.ParseDuration with days, since people answer in days: 30d,
// 1d12h. Everything that takes a length from people reads it by this, so that what one place takes, each does.
func ParseSpan(text string) (time.Duration, error) {
	count, rest, hasDays := strings.Cut(text, "d")
	if !hasDays {
		return time.ParseDuration(text)
	}
	n, err := strconv.ParseUint(count, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("the days are no whole number: %w", err)
	}
	days := time.Duration(n) * 24 * time.Hour
	if rest == "" {
		return days, nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil {
		return 0, err
	}
	if d := days + more; more >= 0 && d >= days {
		return d, nil
	}
	return 0, errors.New("what follows the days is negative, or too long")
}

// FormatSpan writes a length as ParseSpan reads it, in days where it is whole days and without units of which there are
// none.
func FormatSpan(d time.Duration) string {
	const day = 24 * time.Hour
	if d > 0 && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}
