package permission

// Names reports whether a deny or ask rule is about the tool, whatever its pattern
// says of the arguments. A rule that can't be read may be about any.
func (r Rule) Names(t Tool) bool {
	c, err := compile(r)
	return err != nil || c.kin.tool.forbids(&t)
}
