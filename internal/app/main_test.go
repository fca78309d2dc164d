package app_test

import (
	"fmt"
	"os"
	"testing"

	"holdpoint/internal/app/apptest"
)

// TestMain makes this test binary a Holdpoint process when a test started it as one: see victim.
func TestMain(m *testing.M) {
	if spec, ok := os.LookupEnv(envVictim); ok {
		if err := runVictim(spec); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	code := m.Run()
	if code != 0 {
		fmt.Fprint(os.Stderr, apptest.ServerReport())
	}
	apptest.StopServer()
	os.Exit(code)
}
