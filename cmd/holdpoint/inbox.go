package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"holdpoint/api"
	"holdpoint/interaction"
)

func inboxCommand(c *cli) *cobra.Command {
	var r remote
	var asJSON bool
	var run string
	cmd := &cobra.Command{
		Use: "inbox [ID]", Short: "What waits for a person, or one of it whole",
		Long: "Lists what waits, oldest first. With an ID, or any unambiguous part of its beginning, shows that one\n" +
			"whole: everything that would run, odd characters escaped, and the lines that answer it.",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cl, err := c.connect(&r)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				return c.inboxOne(cmd.Context(), cl, &r, args[0], asJSON)
			}
			return c.inboxList(cmd.Context(), cl, &r, interaction.RunID(run), asJSON)
		},
	}
	r.flags(cmd)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&run, "run", "", "only of this run")
	return cmd
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
		} else if !it.SubmittedAt.IsZero() {
			title = "(answered, being carried out) " + title
		}
		rows = append(rows, []string{short[it.ID], orDash(it.Risk), orDash(it.ToolName), age(c.now().Sub(it.CreatedAt)), deadline, title})
	}
	for n, row := range rows {
		line := tableLine(rows, row)
		for i, piece := range fold(line, c.width-edgeWidth) {
			if i > 0 {
				piece = edgeAgain + piece
			}
			if n == 0 {
				piece = c.style.faint(piece)
			} else {
				piece = c.style.risk(piece, list[n-1].Risk)
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
