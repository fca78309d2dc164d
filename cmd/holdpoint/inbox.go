package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"holdpoint/api"
	"holdpoint/interaction"
)

const inboxLong = `Lists what waits, oldest first. With an ID, or any unambiguous part of its beginning, shows that one whole:
everything that would run, odd characters escaped, and the lines that answer it.

At a terminal the list stays open: pick one to see it whole and answer it, or answer several. Arguments are edited
with VISUAL or EDITOR where one is set, and shown again before they are sent. --list only lists.

With --watch the list is live, until Ctrl-C; elsewhere than at a terminal, a line tells each change (+ opened,
~ changed, - closed), with --json as JSON.`

// inboxFlags are inbox's.
type inboxFlags struct {
	run               string
	json, list, watch bool
	every             time.Duration
}

func inboxCommand(c *cli) *cobra.Command {
	var r remote
	var o inboxFlags
	cmd := &cobra.Command{
		Use: "inbox [ID]", Short: "What waits for a person, or one of it whole", Long: inboxLong, Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: c.completing(&r, onlyFirst(waitingIDs)),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 1 && (o.watch || o.run != ""):
				return usage("--watch and --run are for the list: leave out the ID")
			case o.every < minEvery:
				return usage("--every %s is too often: use %s or more", o.every, minEvery)
			}
			cl, err := c.connect(&r)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return c.inboxOne(cmd.Context(), cl, &r, args[0], o.json)
			}
			return c.inbox(cmd.Context(), cl, &r, o)
		},
	}
	r.flags(c, cmd)
	f := cmd.Flags()
	f.BoolVar(&o.json, "json", false, "print JSON")
	f.BoolVar(&o.list, "list", false, "list and end, at a terminal too")
	f.BoolVarP(&o.watch, "watch", "w", false, "a live list, until Ctrl-C")
	spanVar(cmd, &o.every, "every", 2*time.Second, "how often --watch looks")
	f.StringVar(&o.run, "run", "", "only of this run")
	complete(cmd, "run", c.completing(&r, liveRunIDs))
	cmd.MarkFlagsMutuallyExclusive("list", "watch")
	return cmd
}

// inbox is the list in one of its forms.
func (c *cli) inbox(ctx context.Context, cl *client, r *remote, o inboxFlags) error {
	var run interaction.RunID
	if o.run != "" {
		found, err := cl.findRun(ctx, o.run)
		if err != nil {
			return err
		}
		run = found.ID
	}
	switch {
	case o.watch:
		return (&inboxLive{c: c, cl: cl, r: r, run: run, json: o.json}).follow(ctx, o.every)
	case c.asks && !o.list && !o.json:
		return c.inboxDesk(ctx, cl, r, run)
	default:
		return c.inboxList(ctx, cl, r, run, o.json)
	}
}

func (c *cli) inboxOne(ctx context.Context, cl *client, r *remote, ref string, asJSON bool) error {
	it, err := cl.find(ctx, ref, false)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(it)
	}
	c.show(c.out, it)
	c.respondLines(c.out, r, it, shortID(it.ID))
	return nil
}

func (c *cli) inboxList(ctx context.Context, cl *client, r *remote, run interaction.RunID, asJSON bool) error {
	list, more, err := cl.waiting(ctx, run)
	if err != nil {
		return err
	}
	if asJSON {
		return c.printJSON(api.InteractionList{Items: append([]api.Interaction{}, list...)})
	}
	if len(list) == 0 {
		fmt.Fprintln(c.out, "Nothing waits for a person.")
		return nil
	}
	c.table(list)
	if more {
		fmt.Fprintln(c.out, "There is more than can be listed; --run shows one run's.")
	}
	fmt.Fprintf(c.out, "\nSee one whole: %s inbox%s ID\n", c.name, r.typed())
	return nil
}

// table writes one line per interaction; columns are as wide as their widest cell, and no cell is cut.
func (c *cli) table(list []api.Interaction) {
	c.tableRows(c.rows(list), func(n int, text string) string { return c.style.risk(text, list[n].Risk) })
}

func (c *cli) rows(list []api.Interaction) [][]string {
	short := shortIDs(list)
	rows := [][]string{{"ID", "RISK", "TOOL", "AGE", "DEADLINE", "TITLE"}}
	for _, it := range list {
		deadline := "none"
		if !it.ExpiresAt.IsZero() {
			deadline = left(it.ExpiresAt.Sub(c.now()))
		}
		title := it.Title
		if it.Status == interaction.StatusHeld {
			title = "(held) " + title
		} else if it.Settled() {
			title = "(decided, carried out as soon as the run goes on) " + title
		}
		rows = append(rows, []string{short[it.ID], orDash(it.Risk), orDash(it.ToolName), age(c.now().Sub(it.CreatedAt)), deadline, title})
	}
	return rows
}

// tableRows writes a table whose first row is its head. paint colours a piece of the row of that number, from 0.
func (c *cli) tableRows(rows [][]string, paint func(n int, text string) string) {
	for n, row := range rows {
		line := tableLine(rows, row)
		for i, piece := range fold(line, c.width-edgeWidth) {
			if i > 0 {
				piece = edgeAgain + piece
			}
			if n == 0 {
				piece = c.style.faint(piece)
			} else {
				piece = paint(n-1, piece)
			}
			fmt.Fprintln(c.out, piece)
		}
	}
}

func tableLine(rows [][]string, row []string) string {
	var b strings.Builder
	for col, cell := range row {
		cell = interaction.Visible(cell)
		b.WriteString(cell)
		if col == len(row)-1 {
			break
		}
		widest := 0
		for _, other := range rows {
			widest = max(widest, utf8.RuneCountInString(interaction.Visible(other[col])))
		}
		b.WriteString(strings.Repeat(" ", widest-utf8.RuneCountInString(cell)+2))
	}
	return b.String()
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// printJSON writes v for programs. Characters that could hide something at a terminal are escaped the JSON way, so
// that the value is the same.
func (c *cli) printJSON(v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.out, plainJSON(b))
	return err
}

// printLine is printJSON on one line.
func (c *cli) printLine(v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.out, plainJSON(b))
	return err
}

// plainJSON escapes odd characters in JSON. Outside strings there are none.
func plainJSON(b []byte) string {
	var out strings.Builder
	for _, r := range string(b) {
		switch {
		case r == '\n' || interaction.Visible(string(r)) == string(r):
			out.WriteRune(r)
		case r > 0xffff:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&out, `\u%04x\u%04x`, hi, lo)
		default:
			fmt.Fprintf(&out, `\u%04x`, r)
		}
	}
	return out.String()
}
