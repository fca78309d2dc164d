package permission

import "fmt"

// compiled is a rule as a set keeps it: small, for a user may have thousands. What many rules have in common they share.
// What is a rule's own stands in one text of the set, and most patterns are matched from there; see [plain]. The
// others keep a form.
type compiled struct {
	kin *kin
	// at is where its record starts in the text of its kin, and size how long the pattern is that the record starts with.
	at    uint32
	size  uint16
	flags ruleFlags
}

// kin is what some rules have in common.
type kin struct {
	tool *toolPattern
	// scope is the rule without what is in its record.
	scope *Rule
	text  string
	form  *form // nil where there is none; else the kin is of one rule
}

type ruleFlags uint16

const (
	isWhole ruleFlags = 1 << iota // there is no record: scope is all of it
	isBare
	isTimed   // it expires
	isCounted // it has a bound on its uses
	isStored  // it is a grant
	// Which readings of its pattern there are.
	asCmd
	asPath
	asURL
	asArgs
	// Which of them are plain.
	plainCmd
	plainPath
	plainArgs
	// A plain command may have no wildcard, or end in :*.
	exactCmd
	prefixCmd
)

// form has the readings of a pattern for every kind of tool that it could apply to, those that are plain left out.
// Which one counts is only known from the call.
type form struct {
	cmd  *cmdPattern
	path *pathPattern
	url  *urlPattern
	args *argsPattern
	// where are the conditions on named arguments.
	where []constraint
}

func (f *form) read(effect Effect, kind Kind, arg string) error {
	switch kind {
	case KindCommand:
		p, err := parseCmdPattern(effect, arg)
		if err == nil {
			f.cmd = p
		}
		return err
	case KindRead, KindWrite:
		p, err := parsePathPattern(effect, arg)
		if err == nil {
			f.path = p
		}
		return err
	case KindURL:
		p, err := parseURLPattern(effect, arg)
		if err == nil {
			f.url = p
		}
		return err
	case KindOther, KindMCP:
		p, err := parseArgsPattern(arg)
		if err == nil {
			f.args = p
		}
		return err
	default:
		return fmt.Errorf("unknown kind of tool %d", kind)
	}
}

// readings are the flags of what was read.
func (f *form) readings() (out ruleFlags) {
	if f.cmd != nil {
		out |= asCmd
	}
	if f.path != nil {
		out |= asPath
	}
	if f.url != nil {
		out |= asURL
	}
	if f.args != nil {
		out |= asArgs
	}
	return out
}

func (c *compiled) has(f ruleFlags) bool { return c.flags&f != 0 }

func (c *compiled) bare() bool { return c.has(isBare) }

func (c *compiled) effect() Effect { return c.kin.scope.Effect }

// stored reports whether the rule is a grant.
func (c *compiled) stored() bool { return c.has(isStored) }

// noForm is that of rules that are plain in every way.
var noForm form

func (c *compiled) form() *form {
	if c.kin.form == nil {
		return &noForm
	}
	return c.kin.form
}

// where are the conditions on named arguments.
func (c *compiled) where() []constraint {
	return c.form().where
}

// arg is the pattern between the parentheses.
func (c *compiled) arg() string {
	if c.has(isWhole) {
		_, arg, _, _ := splitPattern(c.kin.scope.Pattern)
		return arg
	}
	return c.kin.text[c.at : c.at+uint32(c.size)]
}

// cmd is the pattern as one for commands; nil if it is none.
func (c *compiled) cmd() *cmdPattern {
	if c.has(plainCmd) {
		p, _ := parseCmdPattern(c.effect(), c.arg())
		return p
	}
	return c.form().cmd
}

// path is the pattern as one for files; nil if it is none.
func (c *compiled) path() *pathPattern {
	if c.has(plainPath) {
		if c.effect() == Allow {
			p, _ := parsePathPattern(Allow, c.arg())
			return p
		}
		f := plainPattern(true, c.arg())
		return &pathPattern{f.globs()}
	}
	return c.form().path
}

// url is the pattern as one for requests; nil if it is none.
func (c *compiled) url() *urlPattern {
	return c.form().url
}

// args is the pattern as one for arguments; nil if it is none.
func (c *compiled) args() *argsPattern {
	if c.has(plainArgs) {
		p, _ := parseArgsPattern(c.arg())
		return p
	}
	return c.form().args
}
