package web_test

import (
	"crypto/rand"
	"database/sql"
	"encoding/csv"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the record is tampered with

	"holdpoint/interaction"
	"holdpoint/internal/app/apptest"
)

func TestSubAgentsStandWithinTheRunThatCalledThem(t *testing.T) {
	h, m := setup(t)
	tb := open(t, h)
	task := m.plays(t.Name()+": the task", apptest.Calls("bash", apptest.Bash("echo from below")))
	run := h.Start("chief", m.plays(t.Name(), apptest.Calls("agent_tester", `{"task":"`+task+`"}`)))
	tb.goTo("/runs/" + string(run.RunID))
	tb.holds(`document.querySelector(".gate-card.card form") !== null`)
	tb.holds(`[...document.querySelectorAll(".item.depth-1 .sub")].some((e) => e.textContent === "tester")`)
	var q interaction.Request
	h.Get("/v1/interactions/"+strings.TrimPrefix(eval[string](tb, `document.querySelector(".gate-card h3 a").pathname`), "/inbox/"), &q)
	tb.goTo("/inbox/" + string(q.ID))
	tb.shows("chief › tester")
	tb.click(".answer .primary")
	tb.shows("Approved by dev")
	h.Ended(run.RunID)
	tb.goTo("/runs/" + string(q.RunID))
	tb.shows("The run above")
	tb.accessible()
}

func TestATemplateIsGrantedInOneStep(t *testing.T) {
	h, _ := setup(t)
	tb := open(t, h)
	tb.goTo("/rules?user=tom")
	tb.shows("Looking around")
	tb.click(`form[action="/rules/template"] button`)
	tb.holds(`[...document.querySelectorAll(".rules code")].some((e) => e.textContent === "bash(ls:*)")`)
}

func TestTheTrailIsFilteredAndExported(t *testing.T) {
	h, m := setup(t)
	tb := open(t, h)
	mark := rand.Text()
	for command, action := range map[string]string{"echo one " + mark: "approve", "echo two " + mark: "reject"} {
		q := asks(t, h, m, command)
		h.Answer(q.ID, map[string]any{"action": action})
		endsAs(h, q.ID, interaction.Action(action))
	}
	tb.goTo("/audit?q=two+" + mark)
	tb.shows("echo two " + mark)
	tb.holds(`document.querySelectorAll("tbody tr").length === 1`)
	export := eval[string](tb, `document.querySelector("a.button").href`)
	code, body := h.HTTP(http.MethodGet, strings.Replace(strings.TrimPrefix(export, h.URL()), "/audit/export", "/v1/audit", 1)+"&format=csv", nil)
	if rows, err := csv.NewReader(strings.NewReader(string(body))).ReadAll(); code != http.StatusOK || err != nil || len(rows) != 2 || !strings.Contains(string(body), "echo two "+mark) {
		t.Errorf("the export of what is shown: %d, %d rows, %v\n%s", code, len(rows), err, body)
	}
}

func TestARecordSaysWhetherItHolds(t *testing.T) {
	h, m := setup(t)
	tb := open(t, h)
	q := asks(t, h, m, "echo recorded")
	h.Answer(q.ID, map[string]any{"action": "approve"})
	h.Ended(q.RunID)
	tb.goTo("/audit/" + string(q.RunID))
	tb.shows("The record holds.")
	db, err := sql.Open("sqlite", filepath.Join(h.Options.Data, "private", "holdpoint.db")+"?_pragma=busy_timeout(60000)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(t.Context(), `UPDATE events SET payload = '{"content":"nothing happened"}' WHERE run_id = ? AND number = 3`, string(q.RunID)); err != nil {
		t.Fatal(err)
	}
	tb.goTo("/audit/" + string(q.RunID))
	tb.shows("The record was tampered with.")
	tb.shows("event 3")
}
