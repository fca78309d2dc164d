package permission

// Names reports whether a deny or ask rule is about the tool, whatever its pattern
// says of the arguments. A rule that can't be read may be about any.
func (r Rule) Names(t Tool) bool {
	c, err := compile(r)
	return err != nil || c.kin.tool.forbids(&t)
}

// IsAbout reports whether the rule could hold for calls of the tool: an allow spells its name exactly, a deny or ask
// in any case. A rule that can't be read is about none.
func (r Rule) IsAbout(t Tool) bool {
	c, err := compile(r)
	switch {
	case err != nil:
		return false
	case r.Effect == Allow:
		return c.kin.tool.permits(&t)
	default:
		return c.kin.tool.forbids(&t)
	}
}
