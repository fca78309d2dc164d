package main

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"holdpoint/internal/app"
)

const defaultData = ".holdpoint"

// remote is where the bridge is, as the flags say.
type remote struct{ addr, token, data, profile string }

func (r *remote) flags(c *cli, cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.addr, "addr", "", "address of the bridge (HOLDPOINT_ADDR; else that of holdpoint dev)")
	f.StringVar(&r.token, "token", "", "bearer token (HOLDPOINT_TOKEN; else that of holdpoint dev)")
	f.StringVar(&r.profile, "profile", "", "profile in profiles.yaml that has address and token (HOLDPOINT_PROFILE)")
	f.StringVar(&r.data, "data", defaultData, "data directory of holdpoint dev")
	complete(cmd, "addr", nothing)
	complete(cmd, "token", nothing)
	complete(cmd, "profile", c.profileNames)
	_ = cmd.MarkFlagDirname("data")
}

// typed are the flags that a line to type next needs as well. The token is never among them.
func (r *remote) typed() string {
	var s string
	if r.addr != "" {
		s += " --addr " + shellWord(r.addr)
	}
	if r.profile != "" {
		s += " --profile " + shellWord(r.profile)
	}
	if r.data != defaultData {
		s += " --data " + shellWord(r.data)
	}
	return s
}

// named are the address and token that flags, a profile and the environment name; "" where none does. What is typed
// goes before what is set, and a bridge's own token before that of the environment.
func (c *cli) named(r *remote) (addr, token string, err error) {
	if r.addr != "" && r.profile != "" {
		return "", "", usage("--addr and --profile both name a bridge: give one of them")
	}
	addr, name := r.addr, r.profile
	if addr == "" && name == "" {
		addr, _ = c.getenv("HOLDPOINT_ADDR")
	}
	if addr == "" && name == "" {
		name, _ = c.getenv("HOLDPOINT_PROFILE")
	}
	token = r.token
	if addr == "" && name != "" {
		p, err := c.profile(name)
		if err != nil {
			return "", "", err
		}
		addr = p.Addr
		if token == "" {
			token = p.Token
		}
	}
	if token == "" {
		token, _ = c.getenv("HOLDPOINT_TOKEN")
	}
	return addr, token, nil
}

// connect finds the bridge. A token that holdpoint dev left goes to that bridge only.
func (c *cli) connect(r *remote) (*client, error) {
	cl, err := c.reach(r)
	if err != nil {
		return nil, err
	}
	cl.line, cl.flags = c.name, r.typed()
	return cl, nil
}

func (c *cli) reach(r *remote) (*client, error) {
	addr, token, err := c.named(r)
	if err != nil {
		return nil, err
	}
	var base *url.URL
	if addr != "" {
		if base, err = parseAddr(addr); err != nil {
			return nil, err
		}
		if token != "" {
			return newClient(base, token), nil
		}
	}
	info, err := app.ReadDevInfo(r.data)
	switch {
	case err != nil && base == nil:
		return nil, err
	case err != nil: // a bridge on loopback may take requests without a token
		return newClient(base, token), nil
	}
	dev, err := parseAddr(info.URL)
	if err != nil {
		return nil, fmt.Errorf("what holdpoint dev left in %s can't be used: %w", r.data, err)
	}
	if base == nil {
		base = dev
	}
	if token == "" && base.String() == dev.String() {
		token = info.Token
	}
	return newClient(base, token), nil
}

// parseAddr reads host:port or a URL. Without a scheme, a token goes unencrypted to this machine only.
func parseAddr(addr string) (*url.URL, error) {
	if !strings.Contains(addr, "://") {
		scheme := "https"
		if loopback(addr) {
			scheme = "http"
		}
		addr = scheme + "://" + addr
	}
	u, err := url.Parse(addr)
	switch {
	case err != nil || u.Host == "":
		return nil, usage("%q is no address: write host:port or a URL such as http://127.0.0.1:7400", addr)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, usage("%q is no address: only http and https are spoken", addr)
	case u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return nil, usage("the address must be a plain URL; a token goes into --token or HOLDPOINT_TOKEN")
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	return u, nil
}

func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		host = addr
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsLoopback()
}
