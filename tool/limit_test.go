package tool_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"holdpoint/tool"
)

func TestALimitEndsAsADeadlineDoes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, limit := tool.WithLimit(t.Context(), time.Minute)
		defer limit.End()
		began := time.Now()
		<-ctx.Done()
		if took := time.Since(began); took != time.Minute || !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			t.Errorf("it ended after %s with %v", took, ctx.Err())
		}
	})
}

func TestAClockThatStandsDoesNotCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, limit := tool.WithLimit(t.Context(), time.Minute)
		defer limit.End()
		began := time.Now()
		<-time.After(20 * time.Second)
		for range 2 { // twice is once
			limit.Stand()
		}
		<-time.After(24 * time.Hour)
		if err := ctx.Err(); err != nil {
			t.Fatalf("it ended while its clock stood: %v", err)
		}
		limit.Go()
		limit.Go()
		<-ctx.Done()
		if took := time.Since(began); took != 24*time.Hour+time.Minute {
			t.Errorf("it ended after %s", took)
		}
		limit.Stand() // too late
		limit.Go()
	})
}

func TestALimitEndsWithItsContextAndItself(t *testing.T) {
	t.Parallel()
	outer, cancel := context.WithCancel(context.Background())
	ctx, limit := tool.WithLimit(outer, time.Hour)
	limit.Stand()
	cancel()
	<-ctx.Done()
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Errorf("it ended with %v", ctx.Err())
	}
	limit.End()
	other, own := tool.WithLimit(context.Background(), time.Hour)
	own.End()
	if !errors.Is(other.Err(), context.Canceled) {
		t.Errorf("it ended with %v", other.Err())
	}
}
