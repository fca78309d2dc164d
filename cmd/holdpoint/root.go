package main

import (
	"fmt"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"
)

// version is set by the linker for releases.
var version = ""

const rootLong = `Holdpoint is a durable human-approval gate for AI agents on Temporal.

Clients find the bridge by --addr and --token, or by --profile; else by HOLDPOINT_ADDR and HOLDPOINT_TOKEN,
or HOLDPOINT_PROFILE; else by what "holdpoint dev" left in the data directory. A profile is an entry of
profiles.yaml in ${XDG_CONFIG_HOME:-~/.config}/holdpoint, with addr, and token or token_file.

Wherever a run, a session or an interaction is named, the beginning of its id will do if it fits one only.
Colours are for terminals; NO_COLOR turns them off.

Exit codes:
  0    done; of run and watch: the run completed
  1    error: refused, not found, not reachable, or not all of a batch was answered
  2    usage: the command line makes no sense
  3    of run and watch: the run failed
  4    of run and watch: the run was aborted by a person
       (ask has codes of its own: see its help)
  130  interrupted; a run goes on`

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
	root.SetFlagErrorFunc(misread)
	root.AddCommand(runCommand(c), runsCommand(c), watchCommand(c), stepsCommand(c), controlCommand(c), messageCommand(c),
		inboxCommand(c), respondCommand(c), askCommand(c), approvalsCommand(c), rulesCommand(c), tokenCommand(c), auditCommand(c), keysCommand(c), configCommand(c), devCommand(c), workerCommand(c),
		apiCommand(c), doctorCommand(c), eraseCommand(c), replayCommand(c), codecCommand(c), versionCommand(c))
	group(root)
	root.InitDefaultCompletionCmd()
	understood(root)
	return root, begun
}

// groups are the headings of the help, each with its commands.
var groups = []struct {
	id, title string
	commands  []string
}{
	{"runs", "Runs:", []string{"run", "runs", "watch", "steps", "control", "message"}},
	{"people", "What waits for people:", []string{"inbox", "respond", "ask", "approvals"}},
	{"rules", "Rules and configuration:", []string{"rules", "config", "token", "keys", "audit"}},
	{"serve", "Serving:", []string{"dev", "worker", "api", "codec", "replay", "doctor", "erase"}},
}

func group(root *cobra.Command) {
	for _, g := range groups {
		used := false
		for _, cmd := range root.Commands() {
			if slices.Contains(g.commands, cmd.Name()) {
				cmd.GroupID, used = g.id, true
			}
		}
		if used {
			root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		}
	}
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
