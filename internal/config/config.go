package config

import (
	"fmt"
	"slices"
	"time"

	"holdpoint/agent"
	"holdpoint/permission"
	"holdpoint/tool"
)

// Pos is where a component or a rule was written.
type Pos struct {
	File string
	Line int
}

// String is file:line.
func (p Pos) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Provider says which adapter talks to a model. The set is closed.
type Provider string

// The providers.
const (
	ProviderAnthropic Provider = "anthropic" // Anthropic's Messages API, or a gateway that speaks it
	ProviderOpenAI    Provider = "openai"    // any OpenAI-compatible chat completions endpoint
	ProviderScripted  Provider = "scripted"  // turns read from a YAML file, for demos and tests
)

// StoreType says what a store keeps its data in. The set is closed.
type StoreType string

// The store types.
const (
	StoreInMemory StoreType = "inmemory" // SQLite in memory, lost at exit; for development only
	StoreSQLite   StoreType = "sqlite"   // one file
	StorePostgres StoreType = "postgres" // a PostgreSQL database
	StoreMongoDB  StoreType = "mongodb"  // a MongoDB database; rules only
)

// Model is a language model an agent can name.
type Model struct {
	Name     string
	Provider Provider
	// Model is the provider's name of the model; hosted providers only, as are BaseURL and APIKey.
	Model string
	// BaseURL is the endpoint, http or https, without credentials. "" is the provider's own. OpenAI's has /v1 at
	// its end, Anthropic's need not.
	BaseURL string
	// APIKey may be empty only where BaseURL names an endpoint.
	APIKey Secret
	// Params are handed to the provider as they are: temperature, for instance. Values are JSON-like.
	Params map[string]any
	// Script is the absolute path of the file of turns; scripted only.
	Script string
	// Timeout bounds one call. 0 leaves it to the adapter.
	Timeout time.Duration
	Pos     Pos
}

// Tool overrides what a built-in tool says of itself, or declares an MCP server. A zero field leaves the tool's own.
type Tool struct {
	Name    string
	Consent tool.Consent
	// Denied is set by default_policy: deny. The rule that enforces it is part of every policy.
	Denied bool
	Risk   permission.Risk
	// Timeout bounds one execution.
	Timeout time.Duration
	// Idempotent is nil where the document does not say.
	Idempotent *bool
	// Cacheable is nil where the document does not say.
	Cacheable *bool
	// TaskQueue is where the tool runs; "" is with the agents.
	TaskQueue string
	// Params are the tool's own settings. Values are JSON-like.
	Params map[string]any
	// Needs are the variables that a person is asked for; bash only.
	Needs []Need
	// Server is set where the document declares an MCP server: what it says is then of all tools of it.
	Server *Server
	Pos    Pos
}

// Store is where permissions or sessions are kept.
type Store struct {
	Name string
	Type StoreType
	// DSN is the absolute path of the database file; sqlite only.
	DSN string
	// Conn is the connection string, which may hold a password; postgres and mongodb only.
	Conn Secret
	// Database is the name of the database; mongodb only.
	Database string
	// KeepFor is how long sessions are kept after their last run has ended, 0 for ever; of session stores only.
	KeepFor time.Duration
	// Encryption says whether what is kept is sealed; of session stores only.
	Encryption Encryption
	Pos        Pos
}

// Encryption is how a store keeps what people, models and tools said.
type Encryption string

const (
	EncryptionOff      Encryption = ""         // in clear
	EncryptionOn       Encryption = "on"       // sealed; what is in clear from before is read
	EncryptionRequired Encryption = "required" // sealed; nothing else is read
)

// Policy is a named list of rules, in the order of writing (which decides nothing).
type Policy struct {
	Name  string
	Rules []permission.Rule
	// Results are the rules about outputs. They play no part in whether a call may run.
	Results []permission.Rule
	Pos     Pos
}

// AgentSpec is an agent together with the names that the worker's side resolves.
type AgentSpec struct {
	Agent           agent.Agent
	PermissionStore string // "" leaves the choice to the process
	SessionStore    string // "" leaves the choice to the process
	Pos             Pos
}

// Config is everything that was configured, each kind in the order of reading: files by name, documents from
// top to bottom. Every reference in it resolves. It is read-only once loaded.
type Config struct {
	// Warnings are what is wrong and stops nothing, in the order of reading: rules that never match, and that nothing can run.
	Warnings         []Problem
	Models           []Model
	Tools            []Tool
	PermissionStores []Store
	SessionStores    []Store
	Policies         []Policy
	Templates        []Template
	Specs            []AgentSpec
	Auths            []Auth
	Bridges          []Bridge // one at most
	// Secrets has one entry at most.
	Secrets []Secrets
	// Redacted are names of fields whose values are hidden in what is told.
	Redacted []string
	Adapters []Adapter // one at most
	Flows    []FlowSpec
	// Notifiers are told of what waits. One at most is of kind callback.
	Notifiers []Notifier
	// Components are all of these as they are written, for showing.
	Components []Component
}

// Agents returns the definitions of all agents, in order.
func (c *Config) Agents() []agent.Agent {
	out := make([]agent.Agent, 0, len(c.Specs))
	for _, s := range c.Specs {
		out = append(out, s.Agent)
	}
	return out
}

// Agent returns the definition of the agent of that name.
func (c *Config) Agent(name string) (agent.Agent, bool) {
	s, ok := c.Spec(name)
	return s.Agent, ok
}

// Spec returns the agent of that name with its stores.
func (c *Config) Spec(name string) (AgentSpec, bool) {
	return find(c.Specs, func(s AgentSpec) bool { return s.Agent.Name == name })
}

// Model returns the model of that name.
func (c *Config) Model(name string) (Model, bool) {
	return find(c.Models, func(m Model) bool { return m.Name == name })
}

// Tool returns the document for the tool of that name; false when it has none and its own defaults hold.
func (c *Config) Tool(name string) (Tool, bool) {
	return find(c.Tools, func(t Tool) bool { return t.Name == name })
}

// PermissionStore returns the permission store of that name.
func (c *Config) PermissionStore(name string) (Store, bool) {
	return find(c.PermissionStores, func(s Store) bool { return s.Name == name })
}

// KeepFor is how long sessions are kept after their last run has ended, 0 for ever.
func (c *Config) KeepFor() time.Duration {
	for _, s := range c.SessionStores {
		if s.KeepFor > 0 {
			return s.KeepFor
		}
	}
	return 0
}

// Encryption is how what was said is kept. Session stores say the same.
func (c *Config) Encryption() Encryption {
	if len(c.SessionStores) == 0 {
		return EncryptionOff
	}
	return c.SessionStores[0].Encryption
}

// SessionStore returns the session store of that name.
func (c *Config) SessionStore(name string) (Store, bool) {
	return find(c.SessionStores, func(s Store) bool { return s.Name == name })
}

// Policy returns the rules in force for an agent that names this policy: its own, and a deny for every tool
// that is configured with default_policy: deny. Those denies come back for "" and for an unknown name too, so
// that no way of asking loses them.
func (c *Config) Policy(name string) []permission.Rule {
	var rules []permission.Rule
	p, _ := find(c.Policies, func(p Policy) bool { return p.Name == name })
	rules = append(rules, p.Rules...)
	for _, t := range c.Tools {
		if t.Denied {
			rules = append(rules, t.denyRule())
		}
	}
	return rules
}

// Results returns the rules about outputs of the policy of that name.
func (c *Config) Results(name string) []permission.Rule {
	p, _ := find(c.Policies, func(p Policy) bool { return p.Name == name })
	return p.Results
}

// denyRule is how default_policy: deny is enforced.
func (t Tool) denyRule() permission.Rule {
	return permission.Rule{
		Effect:  permission.Deny,
		Pattern: t.pattern(),
		Risk:    t.Risk,
		Note:    "default_policy: deny",
		Source:  permission.Source{Layer: permission.LayerPolicy, Name: t.Name, File: t.Pos.File, Line: t.Pos.Line},
	}
}

// pattern matches all calls of the tool, or of the server's tools.
func (t Tool) pattern() string {
	if t.Server != nil {
		return ServerPrefix + t.Name
	}
	return t.Name
}

func find[T any](all []T, match func(T) bool) (T, bool) {
	i := slices.IndexFunc(all, match)
	if i < 0 {
		var none T
		return none, false
	}
	return all[i], true
}
