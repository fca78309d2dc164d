package config

// maxRedacted bounds the names that a redaction adds.
const maxRedacted = 200

var redactionKeys = component("What is hidden in logs, traces and notifications, beside the formats of common services' tokens and the usual names (docs/security.md).", object{keys: []key{
	{name: "fields", shape: shapeTexts, required: true, most: maxRedacted,
		doc: "Names of arguments and fields whose values are hidden, at any depth. A name counts if it ends so, in any spelling: `pin` hides `pin`, `userPin` and `USER_PIN`."},
}})

func readRedaction(s *section, _ string) {
	for _, f := range s.list("fields") {
		if len(f.text) < 3 {
			s.report("fields", f.line, "%q is too short a name: far more than secrets would end so", f.text)
			continue
		}
		s.l.config.Redacted = append(s.l.config.Redacted, f.text)
	}
}
