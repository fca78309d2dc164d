package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"holdpoint/interaction"
)

// readStrictly decodes a file that is one JSON object. Its errors name the file, the line and the field, and what may stand
// there: a misspelt key must not read as one that was left out.
func readStrictly(name string, data []byte, v any) error {
	return placed(name, data, interaction.Strict(data, v))
}

// placed puts the file and the line before an error of reading data.
func placed(name string, data []byte, err error) error {
	var e *interaction.Error
	if !errors.As(err, &e) {
		return err
	}
	if line := lineOf(data, e.Field); line > 0 {
		return fmt.Errorf("%s:%d: %w", name, line, err)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// lineOf is the line of a field, by its path, or of where data stops being JSON; 0 where that can't be told.
func lineOf(data []byte, field string) int {
	var raw json.RawMessage
	var syntax *json.SyntaxError
	if errors.As(json.Unmarshal(data, &raw), &syntax) {
		return lineAt(data, syntax.Offset)
	}
	if field == "" {
		return 0
	}
	p := places{dec: json.NewDecoder(bytes.NewReader(data)), field: field}
	_ = p.value("") // what stands before the field was read already
	return lineAt(data, p.at)
}

func lineAt(data []byte, offset int64) int {
	if offset <= 0 {
		return 0
	}
	return 1 + bytes.Count(data[:min(offset, int64(len(data)))], []byte("\n"))
}

// places looks for a field. A key that comes twice is found where it comes last, as that one is too many.
type places struct {
	dec   *json.Decoder
	field string
	at    int64
}

func (p *places) value(path string) error {
	token, err := p.dec.Token()
	if err != nil {
		return err
	}
	if open, ok := token.(json.Delim); !ok || open != '{' && open != '[' {
		return nil
	}
	for n := 0; p.dec.More(); n++ {
		below := path + "[" + strconv.Itoa(n) + "]"
		if token == json.Delim('{') {
			key, err := p.dec.Token()
			if err != nil {
				return err
			}
			below = strings.TrimPrefix(fmt.Sprintf("%s.%s", path, key), ".")
		}
		if below == p.field {
			p.at = p.dec.InputOffset()
		}
		if err := p.value(below); err != nil {
			return err
		}
	}
	_, err = p.dec.Token()
	return err
}
