package interaction_test

import (
	"testing"
	"time"

	"holdpoint/interaction"
)

func TestSpansAreReadWithDays(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "15m": 15 * time.Minute, "72h": 72 * time.Hour, "30d": 30 * day, "1d12h": 36 * time.Hour, "0d": 0, "1h30m": 90 * time.Minute,
	} {
		if got, err := interaction.ParseSpan(text); err != nil || got != want {
			t.Errorf("%q is %v, %v; it should be %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "d", "7", "7x", "soon", "-1d", "1.5d", "1d-5h", "1dd", "65535d2562047h", "1d 2h", "70000d"} {
		if got, err := interaction.ParseSpan(text); err == nil {
			t.Errorf("%q was read as %v", text, got)
		}
	}
}

func TestSpansAreWrittenAsTheyAreRead(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		time.Second: "1s", 10 * time.Minute: "10m", 90 * time.Minute: "1h30m", 2 * time.Hour: "2h", 366 * 24 * time.Hour: "366d", 36 * time.Hour: "36h", 0: "0s",
	} {
		got := interaction.FormatSpan(d)
		if got != want {
			t.Errorf("%v is written %q, it should be %q", d, got, want)
		}
		if back, err := interaction.ParseSpan(got); err != nil || back != d {
			t.Errorf("%q is read as %v, %v", got, back, err)
		}
	}
}
