package permission

import "strings"

// optionSpec describes a program's options, for reading them as getopt does.
type optionSpec struct {
	// flags are letters without a value, values letters with one, optional
	// letters whose value can only be glued on.
	flags, values, optional string
	// long names; a trailing = means that a value follows.
	long []string
}

// option is one option that was read. The name is empty when the program has
// no such option, as far as is known.
type option struct {
	name, value string
}

// walk reads options in clusters, glued and separate values, abbreviated long
// names and --, and gives the rest as operands.
func (s optionSpec) walk(args []word) (opts []option, operands []word) {
	for i := 0; i < len(args); i++ {
		text := args[i].text
		if text == "--" {
			return opts, append(operands, args[i+1:]...)
		}
		next := ""
		if i+1 < len(args) {
			next = args[i+1].text
		}
		took := false
		switch {
		case strings.HasPrefix(text, "--"):
			var o option
			o, took = s.longOption(text[2:], next)
			opts = append(opts, o)
		case len(text) > 1 && text[0] == '-':
			var cluster []option
			cluster, took = s.cluster(text[1:], next)
			opts = append(opts, cluster...)
		default:
			operands = append(operands, args[i])
		}
		if took {
			i++
		}
	}
	return opts, operands
}

func (s optionSpec) longOption(text, next string) (o option, took bool) {
	name, value, glued := strings.Cut(text, "=")
	for _, l := range s.long {
		full, takes := strings.CutSuffix(l, "=")
		if !strings.HasPrefix(full, name) || name == "" {
			continue
		}
		if takes && !glued {
			return option{full, next}, true
		}
		return option{full, value}, false
	}
	return option{"", value}, false
}

func (s optionSpec) cluster(letters, next string) (opts []option, took bool) {
	for i, r := range letters {
		name := string(r)
		rest := letters[i+len(name):]
		switch {
		case strings.ContainsRune(s.values, r) && rest == "":
			return append(opts, option{name, next}), true
		case strings.ContainsRune(s.values, r) || strings.ContainsRune(s.optional, r):
			return append(opts, option{name, rest}), false
		case strings.ContainsRune(s.flags, r):
			opts = append(opts, option{name, ""})
		default:
			opts = append(opts, option{"", rest})
		}
	}
	return opts, false
}
