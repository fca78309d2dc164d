package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"holdpoint/agent"
	"holdpoint/internal/config"
	"holdpoint/permission"
	"holdpoint/tool"
	"holdpoint/tool/builtin"
)

// Mistake is one thing that is wrong with a configuration.
type Mistake struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Key  string `json:"key,omitempty"`
	Text string `json:"text"`
	line string
}

// String is file:line: key: text.
func (m Mistake) String() string { return m.line }

// Mistakes are those that an error of CheckConfig, Dev, Worker or API lists, in the order of reading; nil when it is
// about something else.
func Mistakes(err error) []Mistake {
	var wrong *config.Error
	if !errors.As(err, &wrong) {
		return nil
	}
	return mistakes(wrong.Problems)
}

func mistakes(problems []config.Problem) []Mistake {
	out := make([]Mistake, 0, len(problems))
	for _, p := range problems {
		out = append(out, Mistake{File: p.Pos.File, Line: p.Pos.Line, Key: p.Key, Text: p.Text, line: p.String()})
	}
	return out
}

// Configuration is a configuration without mistakes.
type Configuration struct {
	cfg   *config.Config
	tools map[string]tool.Definition
}

// Warnings are what has no effect and may be meant so: rules that no call matches, and that there is nothing to run.
func (c *Configuration) Warnings() []Mistake { return c.warned(false) }

// Unread are the allows whose patterns can't be read. What starts with them starts, since an allow that never matches is safe;
// to whoever looks for mistakes each is one.
func (c *Configuration) Unread() []Mistake { return c.warned(true) }

func (c *Configuration) warned(unread bool) []Mistake {
	return mistakes(slices.DeleteFunc(slices.Clone(c.cfg.Warnings), func(p config.Problem) bool { return p.Unread != unread }))
}

// CheckConfig reads a configuration, a file or a directory, as Dev, Worker and API do, and finds every mistake that
// they would. Nothing is started and no network is used. getenv nil means the process's environment.
func CheckConfig(path string, getenv func(string) (string, bool)) (*Configuration, error) {
	if getenv == nil {
		getenv = os.LookupEnv
	}
	cfg, err := config.Load(path, getenv)
	if err != nil {
		return nil, err
	}
	defs, defErr := newDefinitions(cfg, Options{})
	_, storeErr := chooseStore(cfg, Options{}, true)
	if err := together(defErr, storeErr); err != nil {
		return nil, err
	}
	c := &Configuration{cfg: cfg, tools: map[string]tool.Definition{}}
	for _, name := range config.Builtins() {
		if t, ok := defs.Tool(name); ok {
			c.tools[name] = t.Definition()
		}
	}
	return c, nil
}

// together is one error with the mistakes of all.
func together(all ...error) error {
	var wrong config.Error
	var others []error
	for _, err := range all {
		var some *config.Error
		if errors.As(err, &some) {
			wrong.Problems = append(wrong.Problems, some.Problems...)
		} else if err != nil {
			others = append(others, err)
		}
	}
	if len(wrong.Problems) > 0 {
		return &wrong
	}
	return errors.Join(others...)
}

// ConfigSchema is the JSON Schema of a document of a configuration, for editors.
func ConfigSchema() ([]byte, error) { return config.Schema() }

// Summary is a component in one line.
type Summary struct {
	Type   string `json:"type"`
	Name   string `json:"name"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Text   string `json:"summary"`
	Digest string `json:"digest,omitempty"` // of an agent
}

// Summaries has a line for each component, in the order of reading.
func (c *Configuration) Summaries() []Summary {
	out := []Summary{}
	for _, one := range c.cfg.Components {
		s := Summary{Type: one.Kind, Name: one.Name, File: one.Pos.File, Line: one.Pos.Line}
		switch one.Kind {
		case "model":
			s.Text = modelSummary(one)
		case "tool":
			s.Text = c.toolSummary(one.Name)
		case "permission_store":
			st, _ := c.cfg.PermissionStore(one.Name)
			s.Text = string(st.Type)
		case "session_store":
			st, _ := c.cfg.SessionStore(one.Name)
			s.Text = string(st.Type)
		case "policy":
			for _, p := range c.cfg.Policies {
				if p.Name == one.Name {
					s.Text = ruleCounts(p.Rules)
				}
			}
		case "policy_template":
			t, _ := c.cfg.Template(one.Name)
			s.Text = ruleCounts(t.Rules) + ", once it is granted"
		case "agent":
			a, _ := c.cfg.Agent(one.Name)
			s.Text, s.Digest = agentSummary(a), a.Digest()
		}
		out = append(out, s)
	}
	return out
}

// modelSummary goes by what is shown, which has no secrets.
func modelSummary(shown config.Component) string {
	said := map[string]string{}
	for _, s := range shown.Settings {
		if text, ok := s.Value.(string); ok {
			said[s.Key] = text
		}
	}
	if said["provider"] == string(config.ProviderScripted) {
		return "scripted by " + filepath.Base(said["script"])
	}
	text := said["provider"] + " " + said["model"]
	if said["base_url"] != "" {
		text += " at " + said["base_url"]
	}
	return text
}

func (c *Configuration) toolSummary(name string) string {
	if t, _ := c.cfg.Tool(name); t.Server != nil {
		return serverSummary(t)
	}
	def := c.tools[name]
	text := "risk " + def.Risk + ", " + consentText(def.Consent)
	if t, _ := c.cfg.Tool(name); t.Denied {
		text = "risk " + def.Risk + ", denied to every agent"
	}
	if def.Cacheable {
		text += ", results are kept"
	}
	return text
}

func consentText(c tool.Consent) string {
	switch c {
	case tool.ConsentNever:
		return "runs unless a rule says otherwise"
	case tool.ConsentOutside:
		return "runs inside the workspace, and asks elsewhere and for secrets"
	case tool.ConsentAlways:
		return "asks unless a rule says otherwise"
	default:
		return "asks unless a rule says otherwise"
	}
}

func ruleCounts(rules []permission.Rule) string {
	counts := map[permission.Effect]int{}
	for _, r := range rules {
		counts[r.Effect]++
	}
	return fmt.Sprintf("%d deny, %d ask, %d allow", counts[permission.Deny], counts[permission.Ask], counts[permission.Allow])
}

func agentSummary(a agent.Agent) string {
	parts := []string{"model " + a.Model, strconv.Itoa(len(a.Tools)) + " tools"}
	if len(a.Tools) == 1 {
		parts[1] = "1 tool"
	}
	if a.Policy != "" {
		parts = append(parts, "policy "+a.Policy)
	}
	return strings.Join(append(parts, "digest "+a.Digest()[:12]), ", ")
}

// Shown is the configuration in effect: with defaults, and without secrets. It encodes as JSON.
func (c *Configuration) Shown() Shown {
	all := c.cfg.Show()
	for i := range all {
		if all[i].Kind == "tool" {
			c.ownDefaults(&all[i])
		}
	}
	return Shown{all}
}

// ownDefaults fills in what a tool says of itself.
func (c *Configuration) ownDefaults(s *config.ShownComponent) {
	if t, _ := c.cfg.Tool(s.Name); t.Server != nil {
		s.Notes = append(s.Notes, serverSummary(t))
		return
	}
	def := c.tools[s.Name]
	said := map[string]bool{}
	for _, setting := range s.Settings {
		said[setting.Key] = true
	}
	add := func(key string, value any) {
		if !said[key] {
			s.Settings = append(s.Settings, config.Setting{Key: key, Value: value, Default: true})
		}
	}
	add("risk", def.Risk)
	add("idempotent", def.Idempotent)
	if s.Name == builtin.NameBash || s.Name == builtin.NameHTTPFetch {
		add("timeout", "2m")
	}
	s.Notes = append(s.Notes, c.toolSummary(s.Name))
}

// Shown is a configuration for people and programs.
type Shown struct{ all config.Shown }

// YAML writes it as a configuration again.
func (s Shown) YAML() ([]byte, error) { return s.all.YAML() }

// MarshalJSON writes a list of components.
func (s Shown) MarshalJSON() ([]byte, error) { return json.Marshal(s.all) }
