package permission

import (
	"net/netip"
	"testing"
)

func TestPrivateAddresses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"127.0.0.1", "127.255.255.254", "10.1.2.3", "172.31.0.1", "192.168.0.1", "169.254.169.254", "0.0.0.0", "0.1.2.3",
		"100.64.0.1", "100.100.100.200", "192.0.0.192", "168.63.129.16", "198.18.0.1", "224.0.0.1", "239.1.1.1", "255.255.255.255",
		"::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "100::1", "2001:0:53aa:64c::1", "5f00::1",
		"::ffff:127.0.0.1", "::ffff:169.254.169.254", "::ffff:0:10.0.0.1", "::127.0.0.1", "::10.0.0.1",
		"64:ff9b::127.0.0.1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::8.8.8.8", "64:ff9b:1:7f00:0:100::", "2002:7f00:1::", "2002:c0a8:1::1",
		"2600::5efe:10.0.0.1", "2600::200:5efe:127.0.0.1",
	} {
		if !PrivateAddress(netip.MustParseAddr(s)) {
			t.Errorf("%s is taken for public", s)
		}
	}
	for _, s := range []string{
		"1.1.1.1", "8.8.8.8", "93.184.216.34", "100.63.255.255", "100.128.0.0", "168.63.129.17", "172.32.0.1", "192.0.1.1", "223.255.255.255",
		"2606:4700::1111", "2a00::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1", "2600::5efe:8.8.8.8", "::ffff:0:8.8.8.8",
	} {
		if PrivateAddress(netip.MustParseAddr(s)) {
			t.Errorf("%s is taken for private", s)
		}
	}
	if !PrivateAddress(netip.Addr{}) {
		t.Error("no address at all is taken for public")
	}
}

func TestAListedNameLeadsToPrivateNetworksAndNoFurther(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]struct{ unlisted, listed bool }{
		"8.8.8.8": {true, true}, "2606:4700::1111": {true, true}, "::ffff:8.8.8.8": {true, true},
		"10.1.2.3": {false, true}, "127.0.0.1": {false, true}, "::1": {false, true}, "fd00::1": {false, true}, "::ffff:192.168.0.1": {false, true},
		"100.64.0.1": {false, true}, "100.127.255.254": {false, true},
		"169.254.169.254": {}, "fe80::1": {}, "fe80::1%eth0": {}, "100.100.100.200": {}, "fd00:ec2::254": {}, "::ffff:169.254.169.254": {},
		"0.0.0.0": {}, "224.0.0.1": {}, "168.63.129.16": {}, "64:ff9b::a9fe:a9fe": {}, "192.0.0.192": {},
	} {
		a := netip.MustParseAddr(address)
		if got := AdmitsAddress(a, false); got != want.unlisted {
			t.Errorf("%s: %t for any name", address, got)
		}
		if got := AdmitsAddress(a, true); got != want.listed {
			t.Errorf("%s: %t for a listed name", address, got)
		}
	}
	if AdmitsAddress(netip.Addr{}, true) {
		t.Error("no address at all is admitted")
	}
}

func TestADecisionSaysThatTheHostIsPrivate(t *testing.T) {
	t.Parallel()
	named := rulesOf(a("http_fetch(http://127.0.0.1:8080/**)", "http_fetch(http://localhost/**)"), nil, a("http_fetch(http://10.0.0.7/**)"))
	for _, tt := range []struct {
		url     string
		effect  Effect
		private bool
	}{
		{"http://127.0.0.1:8080/x", Allow, true},
		{"http://0x7f.1:8080/x", Allow, true},
		{"http://localhost/x", Allow, true},
		{"http://10.0.0.7/x", Ask, true},
		{"http://10.0.0.8/x", Deny, true},
		{"http://[::ffff:169.254.169.254]/", Deny, true},
		{"http://example.com/", Ask, false},
	} {
		set, _, err := Compile(named)
		if err != nil {
			t.Fatal(err)
		}
		d := set.Decide(Call{Tool: BuiltinTool("http_fetch"), Args: []byte(arg("url", tt.url))})
		if d.Effect != tt.effect || d.Private != tt.private {
			t.Errorf("%s: %s, private %v; want %s, %v", tt.url, d.Effect, d.Private, tt.effect, tt.private)
		}
	}
}

func TestHeadersThatSendARequestElsewhereAsk(t *testing.T) {
	t.Parallel()
	set, _, err := Compile(rulesOf(a("http_fetch"), nil, nil))
	if err != nil {
		t.Fatal(err)
	}
	for header, want := range map[string]Effect{
		"Accept": Allow, "Authorization": Allow, "X-Api-Key": Allow, "Host": Ask, "hOST": Ask, "X-Forwarded-Host": Ask,
		"Proxy-Authorization": Ask, "X-HTTP-Method-Override": Ask, "X-HTTP-Method": Ask, "X-Original-URL": Ask, "X-Rewrite-URL": Ask,
	} {
		args := `{"url":"https://example.com/","headers":{"` + header + `":"x"}}`
		if d := set.Decide(Call{Tool: BuiltinTool("http_fetch"), Args: []byte(args)}); d.Effect != want {
			t.Errorf("%s: %s, want %s", header, d.Effect, want)
		}
	}
}
