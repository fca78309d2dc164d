package config

import (
	"encoding/json"
	"fmt"
	"slices"
)

// SchemaURL names the schema. It is no place to fetch it from: the binary writes it.
const SchemaURL = "urn:holdpoint:configuration"

// variable is the pattern of a value that an environment variable is put into.
const variable = `\$\{[A-Za-z_][A-Za-z0-9_]*\}`

// durationPattern is what parseDuration reads.
const durationPattern = `^([0-9]+d)?([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))*$`

type node = map[string]any

// Schema is the JSON Schema (draft 2020-12) of one document of a configuration, for editors. It is made from the
// tables that the reader goes by. What it accepts may still be refused: it can't know other documents, files or
// rules.
func Schema() ([]byte, error) {
	defs := node{}
	root := defined(defs, "component", &anyComponent)
	root["additionalProperties"] = true // the type's own schema has the rest
	var byType []any
	for _, k := range kinds() {
		o := defined(defs, k.name, k.object)
		property(o)["type"] = node{"const": k.name, "description": k.object.doc}
		if k.name == "tool" {
			declared(o)
		}
		defs[k.name] = o
		byType = append(byType, node{"if": is("type", k.name), "then": ref(k.name)})
	}
	root["allOf"] = byType
	root["$schema"], root["$id"], root["title"], root["$defs"] = "https://json-schema.org/draft/2020-12/schema", SchemaURL, "Holdpoint configuration", defs
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("the schema can't be written: %w", err)
	}
	return append(out, '\n'), nil
}

// declared tells documents of built-in tools from those that declare an MCP server.
func declared(o node) {
	property(o)["name"] = node{"type": "string", "description": "A built-in tool's name, or that of an MCP server.",
		"anyOf": []any{node{"enum": Builtins()}, node{"pattern": serverName.String(), "maxLength": maxServerName}}}
	none, server := node{}, []any{node{"required": []string{"command"}}, node{"required": []string{"url"}}}
	for _, k := range serverKeys {
		none[k.name] = false
	}
	all, _ := o["allOf"].([]any)
	o["allOf"] = append(all, node{"if": is("name", Builtins()...), "then": node{"properties": none},
		"else": node{"oneOf": server, "properties": node{"params": false}}})
}

func ref(name string) node { return node{"$ref": "#/$defs/" + name} }

func property(o node) node { p, _ := o["properties"].(node); return p }

// is holds where a key is there and has one of the values.
func is(key string, values ...string) node {
	return node{"properties": node{key: node{"enum": values}}, "required": []string{key}}
}

// defined is the schema of a mapping; the mappings inside go to defs.
func defined(defs node, name string, o *object) node {
	properties, dependent := node{}, node{}
	required, all := []string{}, []any{}
	for _, k := range o.keys {
		properties[k.name] = keySchema(defs, name, k)
		if k.required {
			required = append(required, k.name)
		}
		if k.beside != "" {
			dependent[k.name] = []string{k.beside}
		}
		if k.when != nil {
			all = append(all, conditional(o, k)...)
		}
		for _, variant := range variants(o, k) {
			sub := name + "_" + k.name + "_" + variant
			defs[sub] = defined(defs, sub, paramsOf(variant))
			all = append(all, node{"if": is("name", variant), "then": node{"properties": node{k.name: ref(sub)}}})
		}
	}
	for _, e := range o.either {
		var any []any
		for _, k := range e.keys {
			any = append(any, node{"required": []string{k}})
		}
		all = append(all, node{"if": is(e.when.key, e.when.values...), "then": node{"anyOf": any}})
	}
	out := node{"type": "object", "properties": properties, "additionalProperties": false}
	if o.doc != "" {
		out["description"] = o.doc
	}
	if len(required) > 0 {
		out["required"] = required
	}
	if len(dependent) > 0 {
		out["dependentRequired"] = dependent
	}
	if len(all) > 0 {
		out["allOf"] = all
	}
	return out
}

// variants are the names for which a key of shapeParams has a mapping of its own.
func variants(o *object, k key) []string {
	if k.shape != shapeParams {
		return nil
	}
	return Builtins()
}

// conditional says where a key with a condition must or may not be.
func conditional(o *object, k key) []any {
	var out []any
	if k.when.required {
		out = append(out, node{"if": is(k.when.key, k.when.values...), "then": node{"required": []string{k.name}}})
	}
	governing, _ := o.key(k.when.key)
	var others []string
	for _, c := range governing.choices {
		if !slices.Contains(k.when.values, c) {
			others = append(others, c)
		}
	}
	return append(out, node{"if": is(k.when.key, others...), "then": node{"properties": node{k.name: false}}})
}

// keySchema is the schema of one key's value.
func keySchema(defs node, owner string, k key) node {
	out := valueSchema(defs, owner, k)
	out["description"] = k.doc
	switch {
	case k.def != nil:
		out["default"] = k.def
	case k.defDoc != "":
		out["description"] = k.doc + " Default: " + k.defDoc + "."
	}
	return out
}

// orVariable accepts a variable instead of what only a literal can be held to.
func orVariable(s node) node {
	return node{"anyOf": []any{s, node{"type": "string", "pattern": variable}}}
}

func valueSchema(defs node, owner string, k key) node {
	text := node{"type": "string", "minLength": 1}
	switch k.shape {
	case shapeName:
		return node{"type": "string", "pattern": namePattern.String()}
	case shapeText, shapeSecret, shapeConn, shapePath, shapeFile, shapeRefer:
		if k.maxBytes > 0 {
			text["maxLength"] = k.maxBytes
		}
		return text
	case shapeURL:
		return orVariable(node{"type": "string", "pattern": `^https?://[^@?#]+$`})
	case shapeFlag:
		return orVariable(node{"type": "boolean"})
	case shapeInteger:
		return orVariable(node{"type": "integer", "minimum": k.low, "maximum": k.high})
	case shapeDuration:
		return orVariable(node{"type": "string", "pattern": durationPattern, "minLength": 1, "examples": []string{"30s", "15m", "72h", "30d"}})
	case shapeChoice:
		return orVariable(node{"enum": k.choices})
	case shapeTexts, shapeRefers:
		if k.refers == "tool" {
			text = node{"anyOf": []any{orVariable(node{"enum": Builtins()}), node{"type": "string", "pattern": "^" + ServerPrefix + "."}}}
		}
		if len(k.choices) > 0 {
			text = orVariable(node{"enum": k.choices})
		}
		return node{"type": "array", "items": text, "uniqueItems": true, "maxItems": k.most}
	case shapeWords:
		return node{"type": "array", "items": node{"type": []string{"string", "number", "boolean"}}, "maxItems": k.most}
	case shapeSecrets:
		return node{"type": "object", "additionalProperties": node{"type": "string"}, "maxProperties": k.most}
	case shapeFree:
		return node{"type": "object"}
	case shapeParams:
		return node{"type": "object", "$comment": "depends on the name"}
	case shapeValue:
		return node{"not": node{"type": "null"}}
	case shapeNumber:
		return orVariable(node{"type": "number"})
	case shapeObject, shapeObjects:
		sub := owner + "_" + k.name
		defs[sub] = defined(defs, sub, k.items)
		if k.shape == shapeObject {
			return node{"allOf": []any{ref(sub)}}
		}
		return node{"type": "array", "items": ref(sub), "maxItems": k.most}
	default:
		return node{"not": node{}} // a shape that is not known accepts nothing
	}
}
