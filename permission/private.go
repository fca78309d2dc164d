package permission

import (
	"net/netip"
	"slices"
	"strings"
)

// privateNets are the ranges that are not the public internet, beyond those
// netip names itself. 168.63.129.16 is public by its number and the inside of
// every Azure machine; the IPv6 ones are local NAT64, Teredo and site-local.
var privateNets = func() []netip.Prefix {
	var out []netip.Prefix
	for _, s := range []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "198.18.0.0/15", "240.0.0.0/4", "168.63.129.16/32",
		"64:ff9b:1::/48", "100::/64", "2001::/32", "5f00::/16", "fec0::/10",
	} {
		if p, err := netip.ParsePrefix(s); err == nil {
			out = append(out, p)
		}
	}
	return out
}()

// privateNames end the names that by convention stand for this machine or a
// private network.
var privateNames = []string{".localhost", ".localdomain", ".internal", ".local", ".svc", ".lan", ".home.arpa", ".intranet"}

// privateHost reports whether the host is this machine, a private network or
// a cloud's metadata service.
func privateHost(host string, address bool) bool {
	if !address {
		// A name without a dot is completed by the machine's own domain.
		return !strings.Contains(host, ".") || slices.ContainsFunc(privateNames, func(end string) bool { return strings.HasSuffix(host, end) })
	}
	a, err := netip.ParseAddr(host)
	return err != nil || PrivateAddress(a)
}

// PrivateAddress reports whether an address is this machine, a private or
// shared network, a cloud's metadata service, or anything else that is not one
// host on the public internet. It looks into every form of IPv6 address that
// has an IPv4 address inside. The zero Addr is private.
//
// It is what [Set.Decide] holds an address in a URL against. Whoever connects
// to a name must hold the address that the name has become against it too,
// since a decision is made on the name.
func PrivateAddress(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	if !a.IsValid() || notPublic(a) {
		return true
	}
	if !a.Is6() {
		return false
	}
	inner, ok := embeddedIPv4(a)
	return ok && notPublic(inner)
}

// AdmitsAddress reports whether a connection may be made to what a name has
// become: to a public address always, and, where the operator has listed the
// name, to one on this machine or a private or shared network. Listing a name
// never leads to a cloud's metadata service, whose answers are credentials.
//
// It is the one decision of everything here that connects to what a model or a
// program has named.
func AdmitsAddress(a netip.Addr, listed bool) bool {
	a = a.WithZone("").Unmap()
	if !PrivateAddress(a) {
		return true
	}
	return listed && (a.IsPrivate() || a.IsLoopback() || sharedNet.Contains(a)) && !slices.Contains(metadata, a)
}

// sharedNet is what carriers and overlay networks use inside.
var sharedNet = netip.MustParsePrefix("100.64.0.0/10")

// metadata are the addresses of metadata services that are not link-local:
// Alibaba's, and Amazon's by IPv6.
var metadata = []netip.Addr{netip.MustParseAddr("100.100.100.200"), netip.MustParseAddr("fd00:ec2::254")}

func notPublic(a netip.Addr) bool {
	return a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() ||
		slices.ContainsFunc(privateNets, func(p netip.Prefix) bool { return p.Contains(a) })
}

// embeddedIPv4 unwraps the NAT64, 6to4, ISATAP, IPv4-translated and
// IPv4-compatible forms, by which a gateway reaches the IPv4 address inside.
func embeddedIPv4(a netip.Addr) (netip.Addr, bool) {
	b := a.As16()
	last := netip.AddrFrom4([4]byte(b[12:16]))
	switch {
	case b[0] == 0 && b[1] == 0x64 && b[2] == 0xff && b[3] == 0x9b:
		return last, true
	case b[0] == 0x20 && b[1] == 0x02:
		return netip.AddrFrom4([4]byte(b[2:6])), true
	case b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe:
		return last, true
	case [8]byte(b[:8]) == [8]byte{} && b[8] == 0xff && b[9] == 0xff && b[10] == 0 && b[11] == 0:
		return last, true
	case [12]byte(b[:12]) == [12]byte{} && !a.IsLoopback() && !a.IsUnspecified():
		return last, true
	default:
		return a, false
	}
}
