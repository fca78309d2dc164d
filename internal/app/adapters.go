package app

import (
	"holdpoint/api"
	"holdpoint/api/adapters"
	"holdpoint/interaction"
	"holdpoint/internal/auth"
	"holdpoint/internal/config"
)

// adapter is what is configured of the earlier protocols.
func (a *App) adapter() (c config.Adapter) {
	if len(a.defs.cfg.Adapters) > 0 {
		c = a.defs.cfg.Adapters[0]
	}
	return c
}

// guest is in whose name clients of earlier protocols act that send no token: as configured, and otherwise, on one's own
// machine, the person who works there.
func (a *App) guest(dev bool, front config.Bridge) interaction.Principal {
	if c := a.adapter(); c.ID != "" {
		return interaction.Principal{ID: interaction.PrincipalID(c.ID), Roles: c.Roles, Groups: c.Groups}
	}
	if dev && auth.Loopback(a.o.Listen) && !front.BehindProxy {
		return operator("adapter")
	}
	return interaction.Principal{}
}

// mountAdapters serves the earlier protocols behind the bridge's guard.
func (a *App) mountAdapters(bridge *api.Server, front config.Bridge) (*adapters.Adapters, error) {
	list, err := adapters.New(adapters.Config{Bridge: bridge, Agent: a.adapter().Agent, Origins: front.CORSOrigins, Hider: a.redact, Log: a.log})
	if err != nil {
		return nil, err
	}
	list.Mount(bridge.Mount)
	return list, nil
}
