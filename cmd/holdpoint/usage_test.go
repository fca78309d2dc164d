package main

import (
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"holdpoint/interaction"
	"holdpoint/internal/app"
)

func TestEveryFlagThatTakesALengthTakesDays(t *testing.T) {
	t.Parallel()
	const week = 7 * 24 * time.Hour
	now := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	c := &cli{now: func() time.Time { return now }}
	if at, err := (&answerFlags{until: "7d"}).end(now); err != nil || !at.Equal(now.Add(week)) {
		t.Errorf("--until 7d is %v, %v", at, err)
	}
	if at, err := c.moment("since", "7d"); err != nil || !at.Equal(now.Add(-week)) {
		t.Errorf("--since 7d is %v, %v", at, err)
	}
	if in, at, err := (&life{until: "7d"}).read(); err != nil || in != "7d" || !at.IsZero() {
		t.Errorf("--for 7d is %q, %v, %v", in, at, err)
	}
	if d, err := tokenLife("1d12h"); err != nil || d != 36*time.Hour {
		t.Errorf("--expires 1d12h is %v, %v", d, err)
	}
	if _, err := tokenLife("4000d"); err == nil {
		t.Error("a token of more than ten years was taken")
	}
	var d time.Duration
	if err := (span{&d}).Set("7d"); err != nil || d != week || (span{&d}).String() != "7d" {
		t.Errorf("--wait 7d is %v, %v", d, err)
	}
	for _, text := range []string{"7", "-1h", "soon", ""} {
		if (span{&d}).Set(text) == nil {
			t.Errorf("--wait %q was taken", text)
		}
	}
}

// TestAFlagThatCantBeReadIsToldInOurWords gives every flag of every command a value that no flag takes as it is.
func TestAFlagThatCantBeReadIsToldInOurWords(t *testing.T) {
	t.Parallel()
	root, _ := newRoot(&cli{out: io.Discard, err: io.Discard, getenv: func(string) (string, bool) { return "", false }})
	told := map[string]string{}
	for _, cmd := range leaves(root) {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		for _, name := range names {
			for _, value := range []string{`a "quote`, "99999999999999999999"} {
				err := cmd.ParseFlags([]string{"--" + name + "=" + value})
				if err == nil {
					continue
				}
				err = cmd.FlagErrorFunc()(cmd, err)
				told[name] += err.Error() + "\n"
				for _, word := range []string{"strconv", "parsing", "invalid syntax", "out of range", "2006", "time:", "parse error"} {
					if strings.Contains(err.Error(), word) {
						t.Errorf("%s --%s: %v", cmd.CommandPath(), name, err)
					}
				}
			}
		}
	}
	for name, want := range map[string]string{"limit": "write a whole number\n", "json": "write true or false, or the flag alone\n", "give-up": "in double quotes", "keep-every": "such as 30s, 15m, 72h or 30d"} {
		if !strings.Contains(told[name], want) {
			t.Errorf("--%s: %q", name, told[name])
		}
	}
	if !strings.Contains(told["limit"], "write a smaller number") {
		t.Errorf("--limit: %q", told["limit"])
	}
}

func TestARunThatWasNotFoundIsNotGivenUpInSilence(t *testing.T) {
	t.Parallel()
	var res app.Diagnosis
	res.Findings = slices.Grow(res.Findings, 1)[:1]
	res.Findings[0].RunID = "lost"
	if err := givenUp([]interaction.RunID{"lost"}, res); err != nil {
		t.Error(err)
	}
	if err := givenUp([]interaction.RunID{"lost", "misspelt"}, res); err == nil {
		t.Error("a run that was not found was passed over")
	}
	res.More = true // it may be among what is not shown
	if err := givenUp([]interaction.RunID{"other"}, res); err != nil {
		t.Error(err)
	}
}
