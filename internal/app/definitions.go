package app

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"holdpoint/agent"
	"holdpoint/api"
	"holdpoint/internal/config"
	"holdpoint/internal/seal"
	"holdpoint/llm"
	"holdpoint/llm/anthropic"
	"holdpoint/llm/openai"
	"holdpoint/llm/scripted"
	"holdpoint/permission"
	"holdpoint/tool"
	"holdpoint/tool/builtin"
)

// definitions is the configuration as live things. It serves the activities and the bridge.
type definitions struct {
	cfg    *config.Config
	models map[string]llm.Model
	tools  *tool.Set
	extra  []string // tools given in Options, which every agent may use

	// servers are there while a worker runs.
	servers atomic.Pointer[servers]

	policiesMu sync.Mutex
	policies   map[string][]permission.Rule
}

func newDefinitions(cfg *config.Config, o Options) (*definitions, error) {
	d := &definitions{cfg: cfg, models: map[string]llm.Model{}, policies: map[string][]permission.Rule{}}
	var wrong []config.Problem
	for _, m := range cfg.Models {
		live, err := newModel(m)
		if err != nil {
			wrong = append(wrong, config.Problem{Pos: m.Pos, Text: fmt.Sprintf("model %s: %v", m.Name, err)})
			continue
		}
		d.models[m.Name] = live
	}
	for name, m := range o.Models {
		d.models[name] = m
	}
	var tools []tool.Tool
	for _, name := range config.Builtins() {
		t, err := newBuiltin(name, cfg)
		if err != nil {
			c, _ := cfg.Tool(name)
			wrong = append(wrong, config.Problem{Pos: c.Pos, Text: fmt.Sprintf("tool %s: %v", name, err)})
			continue
		}
		tools = append(tools, configured(t, cfg))
	}
	if len(wrong) > 0 {
		return nil, &config.Error{Problems: wrong}
	}
	for _, t := range o.Tools {
		tools = append(tools, configured(t, cfg))
		d.extra = append(d.extra, t.Definition().Name)
	}
	var err error
	d.tools, err = tool.NewSet(tools...)
	return d, err
}

func newModel(m config.Model) (llm.Model, error) {
	switch m.Provider {
	case config.ProviderAnthropic:
		return anthropic.New(anthropic.Config{BaseURL: m.BaseURL, APIKey: m.APIKey.Reveal(), Model: m.Model, Params: m.Params, Timeout: m.Timeout})
	case config.ProviderOpenAI:
		return openai.New(openai.Config{BaseURL: m.BaseURL, APIKey: m.APIKey.Reveal(), Model: m.Model, Params: m.Params, Timeout: m.Timeout})
	case config.ProviderScripted:
		script, err := scripted.Load(m.Script)
		if err != nil {
			return nil, err
		}
		return scripted.New(script), nil
	default:
		return nil, fmt.Errorf("provider %q is not built in", m.Provider)
	}
}

// newBuiltin makes a built-in tool with the settings of its document.
func newBuiltin(name string, cfg *config.Config) (tool.Tool, error) {
	c, _ := cfg.Tool(name)
	settings := builtin.Config{Timeout: c.Timeout}
	for _, n := range c.Needs {
		settings.Needs = append(settings.Needs, builtin.Need(n))
	}
	for key, value := range c.Params {
		if err := setting(&settings, name, key, value); err != nil {
			return nil, fmt.Errorf("params.%s: %w", key, err)
		}
	}
	if err := settings.Validate(); err != nil {
		return nil, fmt.Errorf("params.%w", err)
	}
	t, ok := builtin.New(name, settings)
	if !ok {
		return nil, fmt.Errorf("no tool named %q is built in", name)
	}
	return t, nil
}

// setting puts one of a tool's params where the tool looks for it.
func setting(s *builtin.Config, name, key string, value any) error {
	switch name + "." + key {
	case builtin.NameBash + ".env":
		return texts(&s.Env, value)
	case builtin.NameHTTPFetch + ".private_hosts":
		return texts(&s.PrivateHosts, value)
	case builtin.NameHTTPFetch + ".proxy":
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf("must be the URL of a proxy, such as http://proxy.example:3128")
		}
		s.Proxy = text
		return nil
	}
	return fmt.Errorf("is no setting of it: bash takes env, a list of NAME or NAME=value; http_fetch takes private_hosts, " +
		"a list of names, and proxy, a URL")
}

func texts(to *[]string, value any) error {
	list, ok := value.([]any)
	if !ok {
		return fmt.Errorf("must be a list")
	}
	for _, v := range list {
		*to = append(*to, fmt.Sprint(v))
	}
	return nil
}

// overridden is a tool of which configuration says something else than it says of itself.
type overridden struct {
	tool.Tool
	def tool.Definition
}

func (o overridden) Definition() tool.Definition { return o.def }

// overriddenBased keeps what the tool can do beside running.
type overriddenBased struct {
	overridden
	tool.Based
	tool.Previewer
}

func configured(t tool.Tool, cfg *config.Config) tool.Tool {
	c, ok := cfg.Tool(t.Definition().Name)
	if !ok {
		return t
	}
	def := t.Definition()
	if c.Consent != "" {
		def.Consent = c.Consent
	}
	if c.Risk != "" {
		def.Risk = string(c.Risk)
	}
	if c.Idempotent != nil {
		def.Idempotent = *c.Idempotent
	}
	if c.Cacheable != nil {
		def.Cacheable = *c.Cacheable
	}
	def.TaskQueue = c.TaskQueue
	o := overridden{Tool: t, def: def}
	based, isBased := t.(tool.Based)
	preview, previews := t.(tool.Previewer)
	if isBased || previews {
		return overriddenBased{overridden: o, Based: orNoBase(based, isBased), Previewer: orNoPreview(preview, previews)}
	}
	return o
}

// Agent returns a definition by name.
func (d *definitions) Agent(name string) (agent.Agent, bool) {
	if f, ok := d.cfg.Flow(name); ok {
		return f, true
	}
	a, ok := d.cfg.Agent(name)
	a.Tools = append(slices.Clone(a.Tools), d.extra...)
	return a, ok
}

// Policy returns the rules that hold under a policy now, the same slice each time: the configuration does not change.
func (d *definitions) Policy(name string) ([]permission.Rule, bool) {
	found := slices.ContainsFunc(d.cfg.Policies, func(p config.Policy) bool { return p.Name == name })
	d.policiesMu.Lock()
	defer d.policiesMu.Unlock()
	rules, known := d.policies[name]
	if !known {
		rules = d.cfg.Policy(name)
		if found || name == "" { // names that are gone come from old runs, and there may be many
			d.policies[name] = rules
		}
	}
	return rules, found
}

// Results returns a policy's rules about outputs.
func (d *definitions) Results(policy string) []permission.Rule { return d.cfg.Results(policy) }

// Model returns the live model of a name.
func (d *definitions) Model(name string) (llm.Model, error) {
	m, ok := d.models[name]
	if !ok {
		return nil, fmt.Errorf("no model of that name is configured in this worker")
	}
	return m, nil
}

// Agents lists what the bridge can start.
func (d *definitions) Agents() []api.AgentInfo {
	var out []api.AgentInfo
	for _, a := range d.cfg.Agents() {
		out = append(out, api.AgentInfo{Name: a.Name, Model: a.Model, Tools: a.Tools, Tags: a.Tags, Digest: a.Digest()})
	}
	for _, f := range d.cfg.Flows {
		out = append(out, api.AgentInfo{Name: f.Agent.Name, Tags: f.Agent.Tags, Digest: f.Agent.Digest(), Workflow: string(f.Agent.Flow.Kind)})
	}
	slices.SortFunc(out, func(a, b api.AgentInfo) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// protected are Holdpoint's own denies: no agent reads its databases, keys and tokens, or writes its configuration.
func protected(o Options, cfg *config.Config) []permission.Rule {
	var rules []permission.Rule
	deny := func(tool, path string) {
		for _, p := range spelled(path) {
			rules = append(rules, permission.Rule{Effect: permission.Deny, Pattern: tool + "(" + literal(p) + "/**)", Risk: permission.RiskCritical,
				Note: "Holdpoint's own files", Source: permission.Source{Layer: permission.LayerProtected, Name: "holdpoint"}})
		}
	}
	for _, path := range ownFiles(o, cfg) {
		for _, tool := range []string{"file_read", "file_write", "file_edit"} {
			deny(tool, path)
		}
	}
	if o.Config != "" {
		deny("file_write", o.Config)
		deny("file_edit", o.Config)
	}
	return rules
}

// ownFiles are the files and directories of which no agent may see anything.
func ownFiles(o Options, cfg *config.Config) []string {
	own := []string{filepath.Join(o.Data, privateDir)}
	file, _ := o.Getenv(seal.EnvFile)
	keys := []string{file, o.TLSKey}
	for _, b := range cfg.Bridges {
		keys = append(keys, b.SigningKey, b.TLSKey)
	}
	for _, s := range slices.Concat(cfg.SessionStores, cfg.PermissionStores) {
		if s.Type == config.StoreSQLite {
			keys = append(keys, s.DSN, s.DSN+"-wal", s.DSN+"-shm", s.DSN+"-journal")
		}
	}
	for _, file := range keys {
		if path, err := filepath.Abs(file); err == nil && file != "" {
			own = append(own, path)
		}
	}
	return own
}

// spelled is a path as it was given, and as it is without links: a call that leads there by either is denied.
func spelled(path string) []string {
	path = filepath.Clean(path)
	real, err := filepath.EvalSymlinks(path)
	if err != nil { // it is not there yet
		if real, err = filepath.EvalSymlinks(filepath.Dir(path)); err != nil {
			return []string{path}
		}
		real = filepath.Join(real, filepath.Base(path))
	}
	return slices.Compact([]string{path, real})
}

// privateDir holds what no agent may see, below the data directory.
const privateDir = "private"

// literal makes a path stand for itself in a pattern.
func literal(path string) string {
	var b strings.Builder
	for _, r := range path {
		if strings.ContainsRune(`\*?[]{},()`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

type noBase struct{}

func (noBase) Base(context.Context, tool.Call) (string, error) { return "", nil }

type noPreview struct{}

func (noPreview) Preview(context.Context, tool.Call) (string, error) { return "", nil }

func orNoBase(b tool.Based, ok bool) tool.Based {
	if ok {
		return b
	}
	return noBase{}
}

func orNoPreview(p tool.Previewer, ok bool) tool.Previewer {
	if ok {
		return p
	}
	return noPreview{}
}
