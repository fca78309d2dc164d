package app

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"holdpoint/interaction"
	"holdpoint/tool"
)

// schemas checks tool arguments against JSON Schemas. Compiled schemas are kept by content.
type schemas struct {
	mu       sync.Mutex
	compiled map[[32]byte]*jsonschema.Schema
}

// validate returns nil, or an error whose Field is the path of what is wrong, such as "args.items[2].count".
func (s *schemas) validate(def tool.Definition, args []byte) *interaction.Error {
	schema, err := s.schema(def)
	if err != nil { // a tool whose schema can't be read can't be called
		return &interaction.Error{Code: interaction.CodeInvalid, Field: "args", Message: fmt.Sprintf("the schema of %s can't be read: %v", def.Name, err)}
	}
	var object map[string]any
	if err := interaction.Strict(args, &object); err != nil {
		return asArgs(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return &interaction.Error{Code: interaction.CodeInvalid, Field: "args", Message: "is not JSON: " + err.Error()}
	}
	var bad *jsonschema.ValidationError
	if err := schema.Validate(value); errors.As(err, &bad) {
		leaf := bad
		for len(leaf.Causes) > 0 {
			leaf = leaf.Causes[0]
		}
		return &interaction.Error{Code: interaction.CodeInvalid, Field: argsPath(leaf.InstanceLocation), Message: leaf.ErrorKind.LocalizedString(english)}
	} else if err != nil {
		return &interaction.Error{Code: interaction.CodeInvalid, Field: "args", Message: err.Error()}
	}
	return nil
}

var english = message.NewPrinter(language.English)

func asArgs(err error) *interaction.Error {
	var e *interaction.Error
	if !errors.As(err, &e) {
		return &interaction.Error{Code: interaction.CodeInvalid, Field: "args", Message: err.Error()}
	}
	out := *e
	out.Field = strings.TrimSuffix("args."+e.Field, ".")
	return &out
}

func argsPath(location []string) string {
	var b strings.Builder
	b.WriteString("args")
	for _, part := range location {
		if part != "" && strings.Trim(part, "0123456789") == "" {
			b.WriteString("[" + part + "]")
		} else {
			b.WriteString("." + part)
		}
	}
	return b.String()
}

func (s *schemas) schema(def tool.Definition) (*jsonschema.Schema, error) {
	key := sha256.Sum256(def.Schema)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c, ok := s.compiled[key]; ok {
		return c, nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(def.Schema))
	if err != nil {
		return nil, err
	}
	const name = "tool.json"
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	if err := compiler.AddResource(name, doc); err != nil {
		return nil, err
	}
	c, err := compiler.Compile(name)
	if err != nil {
		return nil, err
	}
	if s.compiled == nil || len(s.compiled) >= maxCompiled { // servers may change theirs without end
		s.compiled = map[[32]byte]*jsonschema.Schema{}
	}
	s.compiled[key] = c
	return c, nil
}

// maxCompiled bounds how many compiled schemas are kept.
const maxCompiled = 4096

// noLoader keeps a schema from naming files or hosts.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a schema may not refer to %s", url)
}
