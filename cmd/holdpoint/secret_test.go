package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"holdpoint/interaction"
)

func secretRows() []interaction.Request {
	return []interaction.Request{{ID: "run-a1b2c3d4-1-1-1", RunID: "run-a1b2c3d4", ToolName: "bash", Title: "bash needs GITHUB_TOKEN",
		Type: interaction.TypeMissingInfo, Kind: interaction.KindTool, Secret: true, Digest: "d"}}
}

func TestASecretIsTypedUnseen(t *testing.T) {
	t.Parallel()
	s := sit(t, secretRows(), "", "respond", "run-a1b2c3d4-1-1-1", "provide_info")
	s.types(t, "bash needs GITHUB_TOKEN (it is not shown as you type):", 1, "hunter22")
	s.ends(t, 0)
	if shown := s.screen.String(); strings.Contains(shown, "hunter22") {
		t.Errorf("the screen shows it:\n%s", shown)
	}
	if got := s.sent(t); len(got) != 1 || got[0].Text != "hunter22" || got[0].Action != interaction.ActionProvideInfo {
		t.Errorf("sent was %+v", got)
	}
}

func TestASecretIsNoArgument(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"provide_info", "--text", "hunter22"}, {"provide", "--body", `{"text":"hunter22"}`}, {"skip", "--secret-from", "-"}} {
		s := sit(t, secretRows(), "", append([]string{"respond", "run-a1b2c3d4-1-1-1"}, args...)...)
		s.ends(t, 2)
		if len(s.sent(t)) != 0 {
			t.Errorf("%v was sent", args)
		}
	}
	s := newSeat(t, secretRows())
	file := filepath.Join(s.dir, "token")
	if err := os.WriteFile(file, []byte("hunter22\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.start(t, "", "respond", "run-a1b2c3d4-1-1-1", "--secret-from", file)
	s.ends(t, 0)
	if got := s.sent(t); len(got) != 1 || got[0].Text != "hunter22" {
		t.Errorf("sent was %+v", got)
	}
}
