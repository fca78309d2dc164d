package permission

func (e *evaluation) suggestions() []string { return nil }
