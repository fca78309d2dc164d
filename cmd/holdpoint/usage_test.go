package main

import (
	"slices"
	"testing"
	"time"

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
