package api

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"holdpoint/interaction"
)

// told says what is wrong with a part of a request as interaction.Strict does: which field, what was found, and what may stand
// there. The schema's own words name neither the fields there are nor what came instead.
func told(registry huma.Registry, body *huma.Schema, d *huma.ErrorDetail) FieldError {
	e := tell(registry, body, d)
	e.Location = shortPath(e.Location)
	return e
}

// maxPath bounds a location, which has names of the sender's making.
const maxPath = 200

// shortPath is a location as it can be shown.
func shortPath(location string) string {
	if len(location) > maxPath {
		location = strings.ToValidUTF8(location[:maxPath], "") + "…"
	}
	return interaction.Visible(location)
}

func tell(registry huma.Registry, body *huma.Schema, d *huma.ErrorDetail) FieldError {
	location, message := within(d.Location, d.Message)
	if at := missingAt(location, message); at != location {
		return FieldError{Location: at, Message: "is missing" + fieldsText(fieldsAt(registry, body, location))}
	}
	switch {
	case message != d.Message: // already in those words
	case message == "unexpected property":
		parent := location[:max(0, strings.LastIndexByte(location, '.'))]
		message = "is no field here" + fieldsText(fieldsAt(registry, body, parent))
	case strings.HasPrefix(message, "expected "):
		message = "must be " + strings.NewReplacer("string to be RFC 3339 date-time", aTime, "string to be", "text that is", "value to be ", "").Replace(strings.TrimPrefix(message, "expected ")) + found(d.Value)
	case strings.HasPrefix(message, "invalid "):
		message = parameter(message) + found(d.Value)
	}
	return FieldError{Location: location, Message: message}
}

const aTime = "a time as RFC 3339 has it, such as 2026-01-31T15:04:05Z"

// parameter says what a parameter must be that could not be read as what it is.
func parameter(message string) string {
	switch {
	case strings.HasPrefix(message, "invalid date/time"): // and what follows is Go's layout
		return "must be " + aTime
	case message == "invalid integer":
		return "must be a whole number"
	case message == "invalid boolean":
		return "must be true or false"
	case strings.HasPrefix(message, "invalid float"):
		return "must be a number"
	default:
		return "can't be read"
	}
}

// missing is 1 for what is told of a field that is not there.
func missing(e FieldError) int {
	if strings.HasPrefix(e.Message, "is missing") {
		return 1
	}
	return 0
}

func fieldsText(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "; fields are " + strings.Join(names, ", ")
}

// maxFound bounds what of a value is repeated.
const maxFound = 60

// found is what came instead; "" where it can't be told.
func found(value any) string {
	switch value.(type) {
	case nil:
		return ", not null"
	case map[string]any:
		return ", not an object"
	case []any:
		return ", not a list"
	}
	b, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	if len(b) > maxFound {
		return fmt.Sprintf(", not %s…, of %d bytes", interaction.Visible(strings.ToValidUTF8(string(b[:maxFound]), "")), len(b))
	}
	return ", not " + interaction.Visible(string(b))
}

// steps are the parts of a path behind the body.
var steps = regexp.MustCompile(`[^.\[\]]+`)

// fieldsAt are the fields of the object at a path within a body, in the order of the schema.
func fieldsAt(registry huma.Registry, s *huma.Schema, location string) []string {
	path := steps.FindAllString(location, -1)
	if len(path) == 0 || path[0] != "body" {
		return nil
	}
	for _, step := range append(path[1:], "") {
		for s != nil && s.Ref != "" {
			s = registry.SchemaFromRef(s.Ref)
		}
		switch {
		case s == nil:
			return nil
		case step == "":
		case s.Type == huma.TypeArray:
			s = s.Items
		default:
			s = s.Properties[step]
		}
	}
	return namesOf(s)
}

// namesOf are an object's fields, those that it must have first.
func namesOf(s *huma.Schema) []string {
	names := slices.Clone(s.Required)
	rest := make([]string, 0, len(s.Properties))
	for name := range s.Properties {
		if !slices.Contains(s.Required, name) {
			rest = append(rest, name)
		}
	}
	slices.Sort(rest)
	return append(names, rest...)
}
