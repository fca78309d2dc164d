package flow

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/parser"
	"github.com/expr-lang/expr/types"
)

// Scope is what conditions and texts read. Outputs has the stages that have run, "" those that were skipped.
type Scope struct {
	Input     string
	Previous  string // the output before, the run's input where there is none
	Iteration int    // of a loop, from 1
	Outputs   map[string]string
}

// maxNodes bounds how large a condition may be once it is parsed.
const maxNodes = 200

// functions are those that conditions may call: none has an effect, reads a clock, or makes much of little.
var functions = []string{"len", "lower", "upper", "trim", "int", "float", "string", "abs", "min", "max", "fromJSON"}

// CheckCondition reports what is wrong with a condition that may read the outputs of the known stages.
func CheckCondition(source string, known []string) error {
	if len(source) > MaxConditionBytes {
		return fmt.Errorf("has %d bytes; at most %d are taken", len(source), MaxConditionBytes)
	}
	outputs := types.Map{}
	for _, name := range known {
		outputs[name] = types.String
	}
	env := types.Map{"input": types.String, "previous": types.String, "iteration": types.Int, "outputs": outputs}
	if _, err := expr.Compile(source, options(expr.Env(env))...); err != nil {
		return readable(err)
	}
	return loopless(source)
}

// loopless refuses what could make a condition long to evaluate: ranges, and what goes through lists.
func loopless(source string) error {
	tree, err := parser.Parse(source)
	if err != nil {
		return readable(err)
	}
	var found loops
	ast.Walk(&tree.Node, &found)
	if found {
		return errors.New("ranges, and functions that take a predicate, are not possible in conditions")
	}
	return nil
}

// loops is set once a node has been visited that goes through a list.
type loops bool

func (l *loops) Visit(n *ast.Node) {
	switch n := (*n).(type) {
	case *ast.PredicateNode:
		*l = true
	case *ast.BinaryNode:
		*l = *l || n.Operator == ".."
	}
}

// Holds evaluates a condition. It ends soon whatever the texts are: there are no loops in the language, and patterns
// are matched in linear time.
func Holds(source string, s Scope) (bool, error) {
	outputs := map[string]any{}
	for name, text := range s.Outputs {
		outputs[name] = text
	}
	env := map[string]any{"input": s.Input, "previous": s.Previous, "iteration": s.Iteration, "outputs": outputs}
	program, err := expr.Compile(source, options(expr.Env(env))...)
	if err != nil {
		return false, readable(err)
	}
	out, err := expr.Run(program, env)
	if err != nil {
		return false, readable(err)
	}
	holds, ok := out.(bool)
	if !ok {
		return false, fmt.Errorf("gives %T, not true or false", out)
	}
	return holds, nil
}

func options(env expr.Option) []expr.Option {
	out := []expr.Option{env, expr.AsBool(), expr.MaxNodes(maxNodes), expr.DisableAllBuiltins()}
	for _, name := range functions {
		out = append(out, expr.EnableBuiltin(name))
	}
	return out
}

// readable is the first line of the library's error: the others draw the place.
func readable(err error) error {
	if err == nil {
		return nil
	}
	first, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(first)
}

var place = regexp.MustCompile(`\{\{(.*?)\}\}`)

// CheckText reports what is wrong with a text that may read the outputs of the known stages.
func CheckText(text string, known []string) error {
	if len(text) > MaxTextBytes {
		return fmt.Errorf("has %d bytes; at most %d are taken", len(text), MaxTextBytes)
	}
	for _, m := range place.FindAllStringSubmatch(text, -1) {
		name := strings.TrimSpace(m[1])
		if stage, ok := strings.CutPrefix(name, "outputs."); ok {
			if !slices.Contains(known, stage) {
				return fmt.Errorf("{{%s}}: no stage that has run by then is named %q", m[1], stage)
			}
			continue
		}
		if !slices.Contains([]string{"input", "previous", "iteration"}, name) {
			return fmt.Errorf("{{%s}} is none of {{input}}, {{previous}}, {{iteration}} and {{outputs.STAGE}}", m[1])
		}
	}
	if strings.Count(text, "{{") != len(place.FindAllString(text, -1)) {
		return errors.New("has a {{ without its }}")
	}
	return nil
}

// Text fills a text in, and cuts it at most many bytes. What the outputs hold is never read as a text of its own.
func Text(text string, s Scope, most int) string {
	var b strings.Builder
	for text != "" && b.Len() < most {
		at := place.FindStringSubmatchIndex(text)
		if at == nil {
			b.WriteString(text)
			break
		}
		b.WriteString(text[:at[0]])
		b.WriteString(s.value(strings.TrimSpace(text[at[2]:at[3]])))
		text = text[at[1]:]
	}
	out := b.String()
	if len(out) > most {
		out = strings.ToValidUTF8(out[:most], "")
	}
	return out
}

func (s Scope) value(name string) string {
	switch name {
	case "input":
		return s.Input
	case "previous":
		return s.Previous
	case "iteration":
		return strconv.Itoa(s.Iteration)
	}
	return s.Outputs[strings.TrimPrefix(name, "outputs.")]
}
