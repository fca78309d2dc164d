package redact

import (
	"regexp"
	"strings"
)

// A Secret of Kubernetes has its values under names of its maker's.
var (
	// aSecret says what a manifest is of, in YAML and in JSON.
	aSecret = regexp.MustCompile(`(?m)(?:^|[{,\s"\\])kind\\{0,15}"?\s{0,4}:\s{0,4}\\{0,15}["']?Secret\b`)
	// dataBlock begins its values in YAML, dataMember in JSON.
	dataBlock  = regexp.MustCompile(`(?m)^([ \t]*)(?:data|stringData):[ \t]*(?:#.*)?\r?$`)
	dataMember = regexp.MustCompile(`"(?:data|stringData)\\{0,15}"\s{0,4}:\s{0,4}\{([^{}]{3,})\}`)
	dataValue  = regexp.MustCompile(`^[ \t]+[^\s:#][^:]*:[ \t]+["']?([^\s"'|>#][^"'\r\n]*)`)
)

// manifests finds the values of such Secrets.
func manifests(s string) (holes []hole) {
	if !aSecret.MatchString(s) {
		return nil
	}
	add := func(from, to int) {
		if s[from:to] != Mark {
			holes = append(holes, hole{from, to})
		}
	}
	for _, at := range dataMember.FindAllStringSubmatchIndex(s, -1) {
		add(at[2], at[3])
	}
	seen := 0
	for _, at := range dataBlock.FindAllStringSubmatchIndex(s, -1) {
		if at[0] < seen {
			continue
		}
		indent := at[3] - at[2]
		for from := at[1]; from < len(s); {
			from += strings.IndexByte(s[from:], '\n') + 1
			line, _, more := strings.Cut(s[from:], "\n")
			if text := strings.TrimLeft(line, " \t"); text != "" && text != "\r" && len(line)-len(text) <= indent {
				break
			}
			if v := dataValue.FindStringSubmatchIndex(line); v != nil {
				add(from+v[2], from+v[3])
			} else if text := strings.TrimSpace(line); text != "" && !strings.ContainsAny(text, ":#") { // of a block
				n := strings.Index(line, text)
				add(from+n, from+n+len(text))
			}
			from += len(line)
			if seen = from; !more {
				break
			}
		}
	}
	return holes
}
