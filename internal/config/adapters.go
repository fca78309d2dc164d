package config

// Adapter says in whose name clients of earlier protocols act that send no token, and whom they talk to.
type Adapter struct {
	Name          string
	ID            string // "" lets nobody in without a token
	Roles, Groups []string
	Agent         string
	Pos           Pos
}

var adapterKeys = component("Earlier protocols (docs/protocols.md). There is one at most.", object{keys: []key{
	{name: "id", shape: shapeText, defDoc: "nobody", doc: "In whose name clients of these protocols act that send no token. Whoever reaches the bridge may then do what it may."},
	{name: "roles", shape: shapeTexts, choices: roles, most: len(roles), beside: "id", defDoc: "none", doc: "What it may do: `user`, `reviewer`, `admin`, `act_for`."},
	{name: "groups", shape: shapeTexts, most: maxListed, beside: "id", defDoc: "none", doc: "Its groups."},
	{name: "agent", shape: shapeRefer, refers: "agent", defDoc: "the only agent", doc: "Whom a chat talks to that names no agent."},
}})

func readAdapter(s *section, name string) {
	a := Adapter{Name: name, Pos: s.pos(), ID: s.text("id"), Groups: texts(s.list("groups")), Agent: s.refer("agent")}
	if v, ok := s.scalar("id", "an id"); ok {
		s.principal("id", v)
	}
	if s.has("roles") {
		a.Roles = s.chosen("roles")
	}
	if a.ID != "" && !s.has("roles") {
		s.reportKey("roles", "is missing: without a role it may do nothing")
	}
	if len(s.l.config.Adapters) > 0 {
		s.reportKey("type", "there is an adapter already, at %s: keep one", s.l.config.Adapters[0].Pos)
	}
	s.l.config.Adapters = append(s.l.config.Adapters, a)
}
