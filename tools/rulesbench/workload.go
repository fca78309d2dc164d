package rulesbench

import "fmt"

// kind is how a rule matches.
type kind int

const (
	exact  kind = iota
	prefix      // with the blank behind it
	suffix
	under // a directory
)

// rule is one rule of the workload.
type rule struct {
	kind kind
	deny bool
	tool string
	text string // what must be the same, at the beginning, at the end, or the directory
}

// call is one call; what it matches is known from how it was made.
type call struct {
	tool, text string
	effect     string // allow, deny, or ask where nothing matches
}

const tools = 16 // that run commands; four more are for files

func tool(i int) string {
	return [tools + 4]string{"bash", "shell01", "shell02", "shell03", "shell04", "shell05", "shell06", "shell07", "shell08", "shell09",
		"shell10", "shell11", "shell12", "shell13", "shell14", "shell15", "file_read", "file_write", "view", "file_edit"}[i]
}

// ruleOf is rule i and a text that it matches: of ten rules six are exact, three are a prefix or a suffix, one is a
// directory. Every tenth of each kind is a deny.
func ruleOf(i int) (r rule, text string) {
	r = rule{deny: i/10%10 == i%10, tool: tool((i/10*7 + i) % tools)}
	switch n := i % 10; {
	case n < 6:
		text = fmt.Sprintf("npm run task%d --if-present", i)
		r.kind, r.text = exact, text
	case n < 8:
		text = fmt.Sprintf("git commit -m note%d --amend", i)
		r.kind, r.text = prefix, fmt.Sprintf("git commit -m note%d ", i)
	case n == 8:
		text = fmt.Sprintf("go test ./... -run=Case%d", i)
		r.kind, r.text = suffix, fmt.Sprintf(" -run=Case%d", i)
	default:
		r.tool = tool(tools + i/10%4)
		text = fmt.Sprintf("src/module%d/internal/file.go", i)
		r.kind, r.text = under, fmt.Sprintf("src/module%d", i)
	}
	return r, text
}

// workload is n rules and 200 calls: half are allowed, a tenth is denied, the rest matches nothing.
func workload(n int) (rules []rule, calls []call) {
	var allowed, denied [10][]int
	for i := range n {
		r, _ := ruleOf(i)
		rules = append(rules, r)
		if r.deny {
			denied[i%10] = append(denied[i%10], i)
		} else {
			allowed[i%10] = append(allowed[i%10], i)
		}
	}
	for k := range 200 {
		kind, i, effect := k/10%10, n+k*10+k/10%10, "ask"
		switch {
		case k%10 == 5:
			i, effect = pick(denied[kind], denied[0], k), "deny"
		case k%10 < 5:
			i, effect = pick(allowed[kind], allowed[1], k), "allow"
		}
		r, text := ruleOf(i)
		calls = append(calls, call{r.tool, text, effect})
	}
	return rules, calls
}

func pick(some, otherwise []int, k int) int {
	if len(some) == 0 {
		some = otherwise
	}
	return some[k*7919%len(some)]
}
