package config

import (
	"slices"
	"time"

	"holdpoint/agent"
	"holdpoint/interaction"
)

// Limits on values.
const (
	maxAgentSteps   = 10_000
	maxPromptBytes  = 64 << 10
	maxDescription  = 1 << 10
	maxRules        = 10_000
	maxQuorum       = 100
	maxAnswerTime   = 5 * 365 * 24 * time.Hour
	maxModelTimeout = 24 * time.Hour
	maxToolTimeout  = 30 * 24 * time.Hour // of one execution; more is a slip of the unit
	maxListed       = 500
	maxTaskQueue    = 200
)

// anyComponent has what every component has.
var anyComponent = object{keys: []key{
	{name: "type", shape: shapeChoice, required: true, choices: []string{"model", "tool", "permission_store", "session_store", "policy", "policy_template", "agent", "auth", "bridge", "secrets", "redaction", "adapter", "workflow", "notifier"},
		doc: "What the document declares."},
	{name: "name", shape: shapeName, required: true,
		doc: "How others refer to it: at most 64 letters, digits, dots, dashes or underscores. It is unique among components of its type."},
}}

func component(doc string, o object) object {
	o.doc = doc
	all := append([]key(nil), anyComponent.keys...)
	o.keys = append(all, o.keys...)
	return o
}

var (
	hosted       = []string{string(ProviderAnthropic), string(ProviderOpenAI)}
	scriptedOnly = []string{string(ProviderScripted)}
)

const notScripted = "is not read by provider scripted"

var modelKeys = component("A language model that agents can name.", object{
	keys: []key{
		{name: "provider", shape: shapeChoice, required: true, choices: []string{string(ProviderAnthropic), string(ProviderOpenAI), string(ProviderScripted)},
			doc: "Who is called: `openai` is any endpoint that speaks chat completions, `anthropic` Anthropic's Messages API or a gateway that speaks it, `scripted` a file of turns."},
		{name: "model", shape: shapeText, when: &when{key: "provider", values: hosted, required: true, why: notScripted},
			doc: "The provider's name of the model."},
		{name: "base_url", shape: shapeURL, when: &when{key: "provider", values: hosted, why: notScripted}, defDoc: "the provider's own",
			doc: "The endpoint, http or https, without credentials and query. OpenAI's ends with `/v1`."},
		{name: "api_key", shape: shapeSecret, when: &when{key: "provider", values: hosted, why: notScripted}, defDoc: "none; needed without `base_url`",
			doc: "The key, best as `${NAME}`. It is in no log, history or answer."},
		{name: "script", shape: shapeFile, when: &when{key: "provider", values: scriptedOnly, required: true, why: "is read by provider scripted only"},
			doc: "The file of turns, in a sub-directory."},
		{name: "params", shape: shapeFree, doc: "Goes into every request as it is, `temperature` for instance."},
		{name: "timeout", shape: shapeDuration, limit: maxModelTimeout, defDoc: "10m", doc: "Bounds one call, from the request to the end of the stream."},
	},
	either: []either{{when{key: "provider", values: hosted}, []string{"api_key", "base_url"}}},
})

var toolKeys = component("Overrides what a built-in tool says of itself, by that tool's name; or declares an MCP server under a name of its own, by `command` or `url` (docs/mcp.md).", object{
	keys: append([]key{
		{name: "requires_consent", shape: shapeFlag, defDoc: "the tool's own", doc: "Whether a call asks when no rule speaks about it."},
		{name: "default_policy", shape: shapeChoice, choices: []string{"allow", "ask", "deny"}, defDoc: "the tool's own",
			doc: "The same in other words. `deny` adds a rule to every policy that forbids the tool."},
		{name: "risk", shape: shapeChoice, choices: risks, defDoc: "the tool's own", doc: "How bad a wrong approval would be. The reviewer is told, and `auto_approve_risk` goes by it."},
		{name: "timeout", shape: shapeDuration, limit: maxToolTimeout, defDoc: "the tool's own", doc: "Bounds one execution of bash, one request of http_fetch with its redirects, or one call of an MCP server's tool; for the first two more than 24h counts as 24h."},
		{name: "idempotent", shape: shapeFlag, defDoc: "the tool's own", doc: "Whether a call that a crash interrupted may run again without asking."},
		{name: "cacheable", shape: shapeFlag, def: false,
			doc: "Whether a success is kept for the session and served when the same call is allowed again. Not for ask_human, file_edit and file_write."},
		{name: "task_queue", shape: shapeText, maxBytes: maxTaskQueue, defDoc: "with the agents",
			doc: "The Temporal task queue of the workers on whose machine it runs: `holdpoint worker --tools-only --task-queue NAME` (docs/tool-workers.md)."},
		{name: "needs", shape: shapeObjects, items: &needKeys, most: maxNeeds, defDoc: "nothing", doc: "Of bash: variables that a person is asked for when a command names one that is not set (docs/secrets.md)."},
		{name: "params", shape: shapeParams, doc: "A built-in tool's own settings."},
	}, serverKeys...),
	later:  []string{"transport", "server"},
	params: map[string]*object{"bash": &bashParams, "http_fetch": &fetchParams},
})

const noSetting = "is no setting of it"

var bashParams = object{unknown: noSetting, keys: []key{
	{name: "env", shape: shapeTexts, most: maxListed, doc: "Adds to the scrubbed environment of commands: `NAME` passes the worker's variable on, `NAME=value` sets one."},
}}

var fetchParams = object{unknown: noSetting, keys: []key{
	{name: "private_hosts", shape: shapeTexts, most: maxListed, doc: "Names of hosts that may be reached although their addresses are private. A rule must allow the URL all the same."},
	{name: "proxy", shape: shapeText, want: "the URL of a proxy, such as http://proxy.example:3128", doc: "The URL of a proxy for every request. The environment's is never used."},
}}

var noParams = object{unknown: noSetting}

var permissionStoreKeys = component("Where saved rules are kept.", storeKeys(StoreMongoDB))

var sessionStoreKeys = component("Where sessions, runs and their records are kept. One process has one database, so it and the permission store name the same.", keptFor(storeKeys()))

// keptFor adds how long things are kept, and how.
func keptFor(o object) object {
	o.keys = append(o.keys, key{name: "keep_for", shape: shapeDuration, limit: 100 * 365 * 24 * time.Hour, defDoc: "for ever",
		doc: "How long a session is kept after its last run has ended, at least an hour; then what was said and done in it is erased (docs/operations.md)."},
		key{name: "encryption", shape: shapeChoice, choices: []string{saidOff, string(EncryptionOn), string(EncryptionRequired)}, defDoc: "`off`",
			doc: "`on` seals what people, models and tools said, under the keys of `HOLDPOINT_ENCRYPTION_KEYS`, and reads what is in clear from before; `required` refuses to (docs/security.md)."})
	return o
}

// storeKeys are those of the SQL stores, and of more.
func storeKeys(more ...StoreType) object {
	choices := []string{string(StoreInMemory), string(StoreSQLite), string(StorePostgres)}
	doc := "`sqlite` is one file on one machine, `postgres` a PostgreSQL database, `inmemory` is lost at exit and for `holdpoint dev` only."
	var extra []key
	if slices.Contains(more, StoreMongoDB) {
		choices, doc = append(choices, string(StoreMongoDB)), doc+" `mongodb` keeps rules alone, beside a session store of another type (docs/permissions.md says what is weaker)."
		only := &when{key: "store_type", values: []string{string(StoreMongoDB)}, required: true, why: "is read by store_type mongodb only"}
		extra = []key{
			{name: "mongo_uri", shape: shapeSecret, when: only, doc: "The connection string, `mongodb://…` or `mongodb+srv://…`, best as `${NAME}`."},
			{name: "mongo_db_name", shape: shapeText, when: only, doc: "The name of the database."},
		}
	}
	return object{
		keys: append([]key{
			{name: "store_type", shape: shapeChoice, required: true, choices: choices, doc: doc},
			{name: "dsn", shape: shapeConn, when: &when{key: "store_type", values: []string{string(StoreSQLite), string(StorePostgres)}, required: true,
				why: "store_type inmemory has no database file"},
				doc: "For sqlite the path of the file, for postgres a connection string, as a URL or as `key=value` pairs."},
		}, extra...),
	}
}

var policyKeys = component("Rules. Deny wins over ask, ask over allow, in whatever order they are written.", object{
	keys: []key{
		{name: "rules", shape: shapeObjects, items: &ruleKeys, required: true, most: maxRules, doc: "The rules."},
	},
})

var onlyAsk = &when{key: "decision", values: []string{"ask"}, why: "belongs to decision: ask"}

var ruleKeys = object{
	keys: []key{
		{name: "match", shape: shapeText, required: true, doc: "The tool, or `tool(pattern)`, such as `bash(git push:*)` or `file_write(./docs/**)`."},
		{name: "where", shape: shapeObjects, items: &conditionKeys, most: maxListed, doc: "Conditions on single arguments; all must hold beside the pattern."},
		{name: "decision", shape: shapeChoice, required: true, choices: []string{"deny", "ask", "allow"}, doc: "What happens to a call that matches."},
		{name: "stage", shape: shapeChoice, choices: []string{stageCall, stageResult}, def: stageCall,
			doc: "What is asked about: the call, before it runs, or its output, before the agent gets it (docs/results.md). About a result a rule can only ask."},
		{name: "risk", shape: shapeChoice, choices: risks, defDoc: "the tool's", doc: "Raises the risk that the reviewer is told."},
		{name: "reviewers", shape: shapeTexts, most: maxListed, when: onlyAsk, defDoc: "whoever may answer", doc: "Who may answer: ids of people, or `group:NAME`."},
		{name: "quorum", shape: shapeInteger, low: 1, high: maxQuorum, def: 1, when: onlyAsk, doc: "How many different people must approve."},
		{name: "exclude_requester", shape: shapeFlag, def: false, when: onlyAsk, doc: "Whether the person for whom the agent works may not approve."},
		{name: "timeout", shape: shapeDuration, limit: maxAnswerTime, when: onlyAsk, defDoc: "none: it waits", doc: "How long there is to answer."},
		{name: "on_timeout", shape: shapeChoice, choices: allTimeoutActions, defDoc: "reject; withhold for a result", when: onlyAsk, beside: "timeout", doc: "What happens when nobody answers in time, for a result `withhold` or `terminate`. It is never an approval."},
		{name: "remind_every", shape: shapeDuration, limit: maxAnswerTime, when: onlyAsk, defDoc: "never",
			doc: "After how long the question is put again: ten times so, then half as often, fifty times in all."},
		{name: "escalate", shape: shapeObjects, items: &escalationKeys, most: interaction.MaxEscalations, when: onlyAsk, defDoc: "nobody else", doc: "A ladder of who may answer as well."},
		{name: "max_grant", shape: shapeChoice, choices: []string{"none", "session", "user"}, def: "none", when: onlyAsk,
			doc: "The widest rule that an answer may leave behind, and by which saved rule this one may be satisfied."},
		{name: "examples", shape: shapeObject, items: &exampleKeys, doc: "Calls and what must be decided on them, by the whole policy. They are checked when the configuration is read."},
	},
}

var conditionKeys = object{keys: []key{
	{name: "name", shape: shapeText, required: true, doc: "The argument, or a dotted path into nested ones."},
	{name: "equals", shape: shapeValue, doc: "The value it must have."},
	{name: "glob", shape: shapeText, doc: "A pattern of its text: `*` is any text, `?` one character."},
	{name: "min", shape: shapeNumber, doc: "The least number it may be."},
	{name: "max", shape: shapeNumber, doc: "The greatest number it may be."},
}}

var exampleKeys = object{keys: []key{
	{name: "allow", shape: shapeTexts, most: maxListed, doc: "Calls that must be allowed."},
	{name: "ask", shape: shapeTexts, most: maxListed, doc: "Calls that must ask."},
	{name: "deny", shape: shapeTexts, most: maxListed, doc: "Calls that must be denied."},
}}

var agentKeys = component("What a run can be started with.", object{keys: []key{
	{name: "model", shape: shapeRefer, refers: "model", required: true, doc: "The model's name."},
	{name: "system_prompt", shape: shapeText, maxBytes: maxPromptBytes, doc: "What the model is told first, at most 64 KiB."},
	{name: "tools", shape: shapeRefers, refers: "tool", most: maxListed, defDoc: "none", doc: "The tools that the model may call."},
	{name: "agents", shape: shapeRefers, refers: "agent", most: maxListed, defDoc: "none", doc: "Agents and workflows that it may hand tasks to, each by a tool named `agent_NAME`. They must not call one another in a circle."},
	{name: "description", shape: shapeText, maxBytes: maxDescription, doc: "What it is good for, for agents that may call it; at most 1 KiB."},
	{name: "policy", shape: shapeRefer, refers: "policy", defDoc: "none: the tools' defaults", doc: "The rules."},
	{name: "permission_store", shape: shapeRefer, refers: "permission_store", defDoc: "a file in the data directory", doc: "Where saved rules are kept."},
	{name: "session_store", shape: shapeRefer, refers: "session_store", defDoc: "a file in the data directory", doc: "Where sessions are kept."},
	{name: "workspace", shape: shapePath, defDoc: "none: no file access", doc: "The directory that its tools work in. File tools stay inside unless a rule allows a path."},
	{name: "max_steps", shape: shapeInteger, low: 1, high: maxAgentSteps, def: agent.DefaultMaxSteps, doc: "How many model calls one run may make."},
	{name: "enable_hitl", shape: shapeFlag, def: true, doc: "Whether people are asked. Without it, what would ask ends as `unreachable`, and an outcome that is not known as `unknown`."},
	{name: "enable_permissions", shape: shapeFlag, def: true, doc: "Whether calls need permission. Without it, what no deny forbids runs."},
	{name: "auto_approve_risk", shape: shapeChoice, choices: []string{"low", "medium", "high"}, defDoc: "none",
		doc: "Lets tools whose default is to ask run without a person where no rule speaks and their risk is at most this."},
	{name: "user_id", shape: shapeText, maxBytes: maxPrincipal, defDoc: "nobody", doc: "For whom it works when a run has no user. One that is started over the bridge has: its caller, or whom the caller names."},
	{name: "tags", shape: shapeTexts, most: maxListed, doc: "Shown in lists."},
}})
