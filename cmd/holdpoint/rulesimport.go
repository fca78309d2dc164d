package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"holdpoint/interaction"
	"holdpoint/permission"
)

const rulesImportLong = `Reads the permissions of a Claude Code settings file (permissions.allow, ask and deny) and says for each
rule what it becomes here, or why it could not be taken. With -o the rules are written as a policy.

A deny or an ask that could not be taken makes the exit code 1: what is left forbids less than the original.`

// policyName is what a component may be called.
var policyName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// maxSettings bounds a settings file.
const maxSettings = 4 << 20

// settings are the parts of a Claude Code settings file that are about permissions.
type settings struct {
	Permissions struct {
		Allow                 []string `json:"allow"`
		Ask                   []string `json:"ask"`
		Deny                  []string `json:"deny"`
		DefaultMode           string   `json:"defaultMode"`
		AdditionalDirectories []string `json:"additionalDirectories"`
		NoBypass              string   `json:"disableBypassPermissionsMode"` // nothing bypasses here
	} `json:"permissions"`
}

func rulesImportCommand(c *cli) *cobra.Command {
	var output, name string
	cmd := &cobra.Command{
		Use: "import FILE", Short: "Take over the rules of a Claude Code settings file", Long: rulesImportLong, Args: cobra.ExactArgs(1),
		Example: "  holdpoint rules import .claude/settings.json -o policy.yaml",
		RunE: func(_ *cobra.Command, args []string) error {
			if !policyName.MatchString(name) {
				return usage("--name %q: use at most 64 letters, digits, dots, dashes or underscores, the first a letter or digit", name)
			}
			s, err := readSettings(args[0])
			if err != nil {
				return err
			}
			all := importAll(s)
			c.imported(s, all)
			if output != "" {
				if err := writeNew(output, policyOf(name, args[0], all)); err != nil {
					return err
				}
				fmt.Fprintf(c.out, "Written: %s, policy %s\n", interaction.Visible(output), interaction.Visible(name))
			}
			for _, i := range all {
				if i.lost {
					return &exit{code: exitError}
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "write the rules to this file, as a policy")
	cmd.Flags().StringVar(&name, "name", "imported", "name of the policy")
	return cmd
}

// writeNew leaves a file alone that is there: a policy that somebody has edited since is not for this to undo.
func writeNew(name, text string) (err error) {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: move it away, or name another file with -o", name)
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	_, err = f.WriteString(text)
	return err
}

func readSettings(name string) (s settings, err error) {
	f, err := os.Open(name)
	if err != nil {
		return s, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	switch {
	case err != nil:
		return s, err
	case len(data) > maxSettings:
		return s, fmt.Errorf("%s is larger than %d bytes", name, maxSettings)
	}
	return s, s.decode(name, data)
}

// decode reads the permissions strictly, since a restriction that is not understood must not be lost without a word. What else
// a settings file has is none of ours.
func (s *settings) decode(name string, data []byte) error {
	var whole map[string]json.RawMessage
	if err := readStrictly(name, data, &whole); err != nil {
		return fmt.Errorf("no settings file: %w", err)
	}
	own, found := whole["permissions"]
	if !found {
		return fmt.Errorf("%s has no \"permissions\", only: %s", name, interaction.Visible(strings.Join(slices.Sorted(maps.Keys(whole)), ", ")))
	}
	if err := interaction.Strict(own, &s.Permissions); err != nil {
		var e *interaction.Error
		if errors.As(err, &e) {
			err = &interaction.Error{Code: e.Code, Field: strings.TrimSuffix("permissions."+e.Field, "."), Message: e.Message}
		}
		return placed(name, data, err)
	}
	return nil
}

// imported is what one rule of another tool became.
type imported struct {
	effect permission.Effect
	text   string // as it was written
	rules  []string
	note   string // what is different, or why it could not be taken
	lost   bool   // a restriction that could not be taken
}

func importAll(s settings) []imported {
	var out []imported
	for _, group := range []struct {
		effect permission.Effect
		texts  []string
	}{{permission.Deny, s.Permissions.Deny}, {permission.Ask, s.Permissions.Ask}, {permission.Allow, s.Permissions.Allow}} {
		for _, text := range group.texts {
			out = append(out, importOne(group.effect, text))
		}
	}
	return out
}

// importOne translates a rule, and takes of the translation what the engine takes.
func importOne(effect permission.Effect, text string) imported {
	out := imported{effect: effect, text: text}
	patterns, note, err := translate(effect, strings.TrimSpace(text))
	if err == nil {
		for _, p := range patterns {
			if err = permission.ParsePattern(effect, p); err != nil {
				break
			}
		}
	}
	if err != nil {
		out.note, out.lost = err.Error(), effect != permission.Allow && known(text)
		return out
	}
	out.rules, out.note = patterns, note
	return out
}

// translate returns a rule's patterns here, with a word on what is different.
func translate(effect permission.Effect, text string) (patterns []string, note string, err error) {
	tool, arg, inner := strings.Cut(text, "(")
	if inner {
		var closed bool
		if arg, closed = strings.CutSuffix(arg, ")"); !closed {
			return nil, "", fmt.Errorf("it does not end in \")\"")
		}
	}
	switch tool {
	case "Bash":
		return translateBash(arg, inner)
	case "Read":
		return translatePath(effect, []string{"file_read"}, arg, inner)
	case "Edit", "Write", "MultiEdit":
		return translatePath(effect, []string{"file_edit", "file_write"}, arg, inner)
	case "WebFetch":
		return translateFetch(effect, arg, inner)
	}
	if strings.HasPrefix(tool, "mcp__") {
		if inner {
			return nil, "", fmt.Errorf("its arguments are not read there; write a rule with conditions (where)")
		}
		return []string{tool}, "", nil
	}
	return nil, "", fmt.Errorf("there is no tool like %s here%s", tool, instead[tool])
}

// instead says what stands in for tools that have no counterpart.
var instead = map[string]string{
	"WebSearch": "", "Glob": ": listing and searching files is bash's", "Grep": ": listing and searching files is bash's", "LS": ": listing and searching files is bash's",
	"NotebookEdit": "", "Task": ": agents have policies of their own", "Agent": ": agents have policies of their own", "Skill": "",
}

// known reports whether a rule is about a tool that has a counterpart.
func known(text string) bool {
	tool, _, _ := strings.Cut(strings.TrimSpace(text), "(")
	switch tool {
	case "Bash", "Read", "Edit", "Write", "MultiEdit", "WebFetch":
		return true
	}
	return strings.HasPrefix(tool, "mcp__")
}

func translateBash(arg string, inner bool) ([]string, string, error) {
	if !inner || arg == "" || arg == "*" || arg == ":*" {
		return []string{"bash"}, "", nil
	}
	return []string{"bash(" + arg + ")"}, "", nil
}

// translatePath reads a path by the rules of gitignore, as they do: //x is absolute, /x and x/y belong to the project, x
// is meant in every directory.
func translatePath(effect permission.Effect, tools []string, arg string, inner bool) (patterns []string, note string, err error) {
	if !inner || arg == "" || arg == "*" || arg == "**" {
		return tools, "", nil
	}
	switch {
	case strings.HasPrefix(arg, "!"):
		return nil, "", fmt.Errorf("an exception can't be taken: a deny has none here")
	case strings.HasPrefix(arg, "//"):
		arg = arg[1:]
	case strings.HasPrefix(arg, "~/"), strings.HasPrefix(arg, "**/") && effect != permission.Allow:
	case strings.HasPrefix(arg, "./"):
	case strings.HasPrefix(arg, "/"):
		arg = "." + arg
		note = "/ is the workspace there; write //… for a path from the root"
	case !strings.Contains(strings.TrimSuffix(arg, "/"), "/") && effect != permission.Allow:
		arg = "**/" + arg // a name alone is meant everywhere
	case !strings.Contains(strings.TrimSuffix(arg, "/"), "/"):
		arg = "./**/" + arg
	default:
		arg = "./" + arg
	}
	if strings.HasSuffix(arg, "/") {
		arg += "**"
	}
	for _, t := range tools {
		patterns = append(patterns, t+"("+arg+")")
	}
	return patterns, note, nil
}

func translateFetch(effect permission.Effect, arg string, inner bool) ([]string, string, error) {
	if !inner || arg == "" || arg == "*" || arg == "domain:*" {
		return []string{"http_fetch"}, "", nil
	}
	host, ok := strings.CutPrefix(arg, "domain:")
	if !ok || strings.ContainsAny(host, "/ ") {
		return nil, "", fmt.Errorf("only domain:HOST is known; write a URL pattern such as http_fetch(https://example.com/**)")
	}
	if effect == permission.Allow {
		return []string{"http_fetch(https://" + host + "/**)"}, "GET and HEAD by https only", nil
	}
	var out []string
	for _, scheme := range []string{"https", "http"} {
		out = append(out, "http_fetch(* "+scheme+"://"+host+"/**)")
	}
	return out, "", nil
}

// imported writes what became of each rule.
func (c *cli) imported(s settings, all []imported) {
	taken, left := 0, 0
	for _, i := range all {
		head := c.style.ruled(fmt.Sprintf("%-5s", i.effect), i.effect)
		if i.rules == nil {
			left++
			c.line(c.out, head, i.text+"  not taken: "+i.note)
			continue
		}
		taken++
		text := i.text + "  becomes " + strings.Join(i.rules, ", ")
		if i.note != "" {
			text += "  (" + i.note + ")"
		}
		c.line(c.out, head, text)
	}
	if m := s.Permissions.DefaultMode; m != "" && m != "default" {
		c.line(c.out, "note ", "defaultMode "+m+" is not taken: what no rule speaks about asks, see auto_approve_risk and enable_permissions")
	}
	for _, d := range s.Permissions.AdditionalDirectories {
		c.line(c.out, "note ", "additionalDirectories "+d+" is not taken: allow its files by a rule such as file_read("+strings.TrimSuffix(d, "/")+"/**)")
	}
	fmt.Fprintf(c.out, "%d taken, %d not taken\n", taken, left)
}

// policyOf writes the rules as a configuration.
func policyOf(name, from string, all []imported) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# From %s. What could not be taken is listed by: holdpoint rules import.\ntype: policy\nname: %s\nrules:", oneLine(from), name)
	n := 0
	for _, i := range all {
		for _, p := range i.rules {
			n++
			fmt.Fprintf(&b, "\n  - {match: %s, decision: %s} # %s", yamlText(p), i.effect, oneLine(i.text))
		}
	}
	if n == 0 {
		b.WriteString(" []")
	}
	return b.String() + "\n"
}

// yamlText writes a text in quotes. A dollar sign that would begin a variable is doubled.
func yamlText(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(strings.ReplaceAll(s, "$", "$$")); err != nil { // a string always has a JSON form
		return `""`
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// oneLine makes a text fit for a comment.
func oneLine(s string) string { return interaction.Visible(strings.Join(strings.Fields(s), " ")) }
