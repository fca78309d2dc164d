package interaction

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// Redacted stands in the place of a secret where something is shown to more than those who may answer. Nothing with it is executed.
const Redacted = "[redacted]"

// CheckMarks refuses arguments that somebody edited from what was shown with parts hidden: the mark would be executed. The error is
// an *Error. What is no JSON has no marks; it is refused elsewhere.
func CheckMarks(args json.RawMessage) error {
	d := json.NewDecoder(bytes.NewReader(args))
	d.UseNumber()
	if field := markIn(d, "args"); field != "" {
		return refuse(CodeInvalid, field, "has %s, which stands for what was hidden: read the interaction itself, and send the whole", Redacted)
	}
	return nil
}

// markIn reads one value and returns the path of the first mark in it, names included.
func markIn(d *json.Decoder, path string) string {
	t, err := d.Token()
	if err != nil {
		return ""
	}
	switch v := t.(type) {
	case string:
		if strings.Contains(v, Redacted) {
			return path
		}
	case json.Delim:
		for n := 0; d.More(); n++ {
			at := fmt.Sprintf("%s[%d]", path, n)
			if v == '{' {
				name, err := d.Token()
				if err != nil {
					return ""
				}
				at = fmt.Sprintf("%s.%s", path, name)
				if strings.Contains(fmt.Sprint(name), Redacted) {
					return at
				}
			}
			if found := markIn(d, at); found != "" {
				return found
			}
		}
		_, _ = d.Token() // the end; an error shows in the next
	default:
	}
	return ""
}
