package config

import (
	"slices"
	"time"
)

// shape says how a key's value is written and read. The set is closed.
type shape int

const (
	shapeName     shape = iota // a component's own name
	shapeText                  // any text
	shapeSecret                // text that is never shown
	shapeConn                  // a database's path or connection string, of which the secrets are never shown
	shapeURL                   // an http or https URL
	shapePath                  // a path, relative to the file that has it
	shapeFile                  // the same, of a file that is there
	shapeFlag                  // true or false
	shapeInteger               // a whole number between low and high
	shapeDuration              // a time such as 30s
	shapeChoice                // one of choices
	shapeTexts                 // a list of texts
	shapeRefer                 // the name of a component of kind refers
	shapeRefers                // a list of them
	shapeFree                  // a mapping that only its user understands
	shapeWords                 // a list of texts in order, which may be there twice
	shapeSecrets               // a mapping of names to texts that are never shown
	shapeParams                // a mapping that depends on the component's name: object.params
	shapeValue                 // any JSON value
	shapeNumber                // any number
	shapeObject                // a mapping: items
	shapeObjects               // a list of mappings: items
)

// key is one key of a mapping, as the reader, the JSON Schema, the shown configuration and the documentation know
// it. All four are made from these tables, so they can't differ.
type key struct {
	name     string
	shape    shape
	doc      string // one sentence for people
	required bool
	// def is what holds without the key; nil where that is nothing, or defDoc says it.
	def    any
	defDoc string
	// choices are the values of shapeChoice, later those that only later versions know.
	choices, later []string
	low, high      int           // of shapeInteger
	limit          time.Duration // of shapeDuration
	maxBytes       int           // of shapeText; 0 is no limit
	want           string        // of shapeText: what the text is; "" says no more
	refers         string        // of shapeRefer and shapeRefers
	items          *object       // of shapeObject and shapeObjects
	most           int           // of lists
	// when limits the key to some values of another one.
	when *when
	// beside is a key without which this one has no effect.
	beside string
}

// when is a condition on another key of the same mapping.
type when struct {
	key      string
	values   []string
	required bool   // under the condition the key must be there
	why      string // the key is refused otherwise, with these words
}

// object is a kind of mapping.
type object struct {
	doc  string
	keys []key
	// later are keys that only later versions read.
	later []string
	// unknown is what is said of any other key.
	unknown string
	// either are keys of which one must be there under a condition.
	either []either
	// params are the mappings of shapeParams, by the component's name.
	params map[string]*object
}

type either struct {
	when when
	keys []string
}

func (o *object) key(name string) (key, bool) {
	i := slices.IndexFunc(o.keys, func(k key) bool { return k.name == name })
	if i < 0 {
		return key{}, false
	}
	return o.keys[i], true
}

// names are the keys in the order of the table.
func (o *object) names() []string {
	var out []string
	for _, k := range o.keys {
		out = append(out, k.name)
	}
	return out
}

// kind is a type of component.
type kind struct {
	name   string
	object *object
	read   func(s *section, name string)
}

func kindOf(name string) (kind, bool) {
	all := kinds()
	i := slices.IndexFunc(all, func(k kind) bool { return k.name == name })
	if i < 0 {
		return kind{}, false
	}
	return all[i], true
}

// kinds are the types of components, in the order of the documentation.
func kinds() []kind {
	return []kind{
		{"model", &modelKeys, readModel},
		{"tool", &toolKeys, readTool},
		{"permission_store", &permissionStoreKeys, readPermissionStore},
		{"session_store", &sessionStoreKeys, readSessionStore},
		{"policy", &policyKeys, readPolicy},
		{"policy_template", &templateKeys, readTemplate},
		{"agent", &agentKeys, readAgent},
		{"auth", &authKeys, readAuth},
		{"bridge", &bridgeKeys, readBridge},
		{"secrets", &secretsKeys, readSecrets},
		{"redaction", &redactionKeys, readRedaction},
		{"adapter", &adapterKeys, readAdapter},
		{"workflow", &workflowKeys, readWorkflow},
		{"notifier", &notifierKeys, readNotifier},
	}
}
