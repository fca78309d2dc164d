package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is set by the linker for releases.
var version = ""

const rootLong = `Holdpoint is a durable human-approval gate for AI agents on Temporal.

Clients find the bridge by --addr and --token, else HOLDPOINT_ADDR and HOLDPOINT_TOKEN, else what
"holdpoint dev" left in the data directory.

Exit codes: 0 done (a run: completed), 1 error, 2 usage, 3 the run failed, 4 the run was aborted by a
person, 130 interrupted.`

// newRoot builds the command tree. begun becomes true when a command line was understood and its command starts.
func newRoot(c *cli) (root *cobra.Command, begun *bool) {
	begun = new(bool)
	root = &cobra.Command{
		Use: "holdpoint", Short: "A durable human-approval gate for AI agents", Long: rootLong,
		SilenceErrors: true, SilenceUsage: true, Args: cobra.NoArgs,
		PersistentPreRun: func(*cobra.Command, []string) { *begun = true },
		RunE:             func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetIn(c.in)
	root.SetOut(c.out)
	root.SetErr(c.err)
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(devCommand(c), workerCommand(c), apiCommand(c), runCommand(c), inboxCommand(c), respondCommand(c), versionCommand(c))
	return root, begun
}

func versionCommand(c *cli) *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the version", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(c.out, "holdpoint", buildVersion())
			return err
		}}
}

// buildVersion is what the linker or the module system say, with the commit where that is known.
func buildVersion() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	v := info.Main.Version
	if v == "" || v == "(devel)" {
		v = "dev"
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" && len(s.Value) >= 12 {
				v += "-" + s.Value[:12]
			}
		}
	}
	return v
}
