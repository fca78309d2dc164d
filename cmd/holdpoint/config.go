package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"holdpoint/interaction"
	"holdpoint/internal/app"
)

const configLong = `Reads a configuration and says what is wrong with it, what it comes to, or what it may have.

PATH is a file or a directory of YAML components; without it, the current directory.`

func configCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{
		Use: "config", Short: "Check, show or describe a configuration", Long: configLong, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(configCheckCommand(c), configShowCommand(c), configSchemaCommand(c))
	return cmd
}

func configCheckCommand(c *cli) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "check [PATH]", Short: "Find every mistake in a configuration",
		Long: "Prints every mistake with its file, line and key, and ends with 1; or a line for each component, and ends with 0.\n" +
			"An allow whose pattern can't be read is one too. Alone it keeps nothing from starting, since it allows nothing.\n" +
			"Nothing is started, and no model or database is reached.",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: yamlFiles,
		RunE: func(_ *cobra.Command, args []string) error { return c.configCheck(pathOf(args), asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func configShowCommand(c *cli) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "show [PATH]", Short: "Print a configuration as it is in effect",
		Long: "Prints each component with its defaults, its variables filled in and its secrets masked, as YAML. Of an agent\n" +
			"also the digest: a run stays with the one it was started with.",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: yamlFiles,
		RunE: func(_ *cobra.Command, args []string) error { return c.configShow(pathOf(args), asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func configSchemaCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of a configuration, for editors",
		Long: "Prints the JSON Schema (draft 2020-12) of one document. Written into a file, an editor completes and checks by it:\n" +
			"put  # yaml-language-server: $schema=FILE  at the head of a configuration.",
		Args: cobra.NoArgs, ValidArgsFunction: nothing,
		RunE: func(*cobra.Command, []string) error {
			text, err := app.ConfigSchema()
			if err != nil {
				return err
			}
			_, err = c.out.Write(text)
			return err
		},
	}
}

// yamlFiles offers files that a configuration may be, and directories.
func yamlFiles(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}

func pathOf(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}

// configChecked is what `config check --json` prints.
type configChecked struct {
	OK         bool          `json:"ok"`
	Mistakes   []app.Mistake `json:"mistakes"`
	Warnings   []app.Mistake `json:"warnings"`
	Error      string        `json:"error,omitempty"` // it could not be read at all
	Components []app.Summary `json:"components"`
}

func (c *cli) configCheck(path string, asJSON bool) error {
	cfg, err := app.CheckConfig(path, c.getenv)
	if asJSON {
		return c.configCheckJSON(cfg, err)
	}
	if err != nil {
		return c.configMistakes(err)
	}
	defer c.warnings(cfg) // behind what was asked for
	if unread := cfg.Unread(); len(unread) > 0 {
		return c.mistakes(unread)
	}
	rows := [][]string{{"TYPE", "NAME", "WHAT IT IS"}}
	for _, s := range cfg.Summaries() {
		rows = append(rows, []string{s.Type, s.Name, s.Text})
	}
	c.tableRows(rows, func(_ int, text string) string { return text })
	_, err = fmt.Fprintf(c.out, "No mistakes in %s.\n", components(len(rows)-1))
	return err
}

func (c *cli) warnings(cfg *app.Configuration) {
	for _, w := range cfg.Warnings() {
		fmt.Fprintf(c.err, "%s %s\n", c.style.yellow("Warning:"), interaction.Visible(w.String()))
	}
}

func components(n int) string {
	if n == 1 {
		return "1 component"
	}
	return strconv.Itoa(n) + " components"
}

// configMistakes prints them to standard output, since they are what was asked for.
func (c *cli) configMistakes(err error) error {
	list := app.Mistakes(err)
	if list == nil {
		return err
	}
	return c.mistakes(list)
}

func (c *cli) mistakes(list []app.Mistake) error {
	for _, m := range list {
		if _, err := fmt.Fprintln(c.out, interaction.Visible(m.String())); err != nil {
			return err
		}
	}
	if len(list) == 1 {
		return &exit{code: exitError, message: "1 mistake"}
	}
	return &exit{code: exitError, message: strconv.Itoa(len(list)) + " mistakes"}
}

func (c *cli) configCheckJSON(cfg *app.Configuration, err error) error {
	out := configChecked{OK: err == nil, Mistakes: []app.Mistake{}, Warnings: []app.Mistake{}, Components: []app.Summary{}}
	switch list := app.Mistakes(err); {
	case err == nil:
		out.Components, out.Warnings, out.Mistakes = cfg.Summaries(), cfg.Warnings(), cfg.Unread()
		out.OK = len(out.Mistakes) == 0
	case list != nil:
		out.Mistakes = list
	default:
		out.Error = err.Error()
	}
	if printErr := c.printJSON(out); printErr != nil || out.OK {
		return printErr
	}
	return &exit{code: exitError}
}

func (c *cli) configShow(path string, asJSON bool) error {
	cfg, err := app.CheckConfig(path, c.getenv)
	if err != nil {
		return c.configMistakes(err)
	}
	if asJSON {
		return c.printJSON(cfg.Shown())
	}
	text, err := cfg.Shown().YAML()
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(c.out, interaction.VisibleLines(string(text)))
	return err
}
