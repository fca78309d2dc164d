package permission

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
)

// packer makes the rules of one set small.
type packer struct {
	text   []byte
	tools  map[toolKey]*toolPattern
	scopes map[scopeKey]*Rule
	kins   map[kinKey]*kin
	all    []*kin
	listed []*toolPattern
}

type toolKey struct {
	text  string
	allow bool
}

// scopeKey tells apart what rules share; rest is the JSON of what few have.
type scopeKey struct {
	effect                                  Effect
	layer                                   Layer
	risk                                    Risk
	source, file, user, session, by, others string
}

type kinKey struct {
	tool  *toolPattern
	scope *Rule
}

func newPacker() *packer {
	return &packer{tools: map[toolKey]*toolPattern{}, scopes: map[scopeKey]*Rule{}, kins: map[kinKey]*kin{}}
}

// pack makes a rule that was just compiled a part of the set.
func (p *packer) pack(c *compiled) compiled {
	r := c.kin.scope
	tool := p.tool(c.kin.tool, r.Effect == Allow)
	arg := ""
	if !c.bare() {
		arg = c.arg()
	}
	if !recordable(r, tool.text, arg, c.bare()) || len(p.text) > math.MaxInt32 {
		k := &kin{tool: tool, scope: r, form: c.kin.form}
		p.all = append(p.all, k)
		return compiled{kin: k, flags: c.flags | standing(r)}
	}
	out := compiled{at: uint32(len(p.text)), size: uint16(len(arg)), flags: c.flags&^isWhole | standing(r)}
	form := c.kin.form.drop(r.Effect, arg, &out.flags)
	out.kin = p.kin(tool, p.scope(r), form)
	p.text = appendRecord(append(p.text, arg...), r)
	return out
}

// done gives all rules the finished text, and returns the tools by their numbers.
func (p *packer) done() []*toolPattern {
	text := string(p.text)
	for _, k := range p.all {
		k.text = text
	}
	return slices.Clone(p.listed)
}

// standing are the flags of what bounds a rule.
func standing(r *Rule) (out ruleFlags) {
	if r.Source.Layer.stored() {
		out |= isStored
	}
	if !r.ExpiresAt.IsZero() {
		out |= isTimed
	}
	if r.MaxUses > 0 {
		out |= isCounted
	}
	return out
}

func (p *packer) tool(t *toolPattern, allow bool) *toolPattern {
	key := toolKey{t.text, allow}
	known, ok := p.tools[key]
	if !ok {
		known = t
		t.text = strings.Clone(t.text)
		t.number = len(p.listed)
		p.listed = append(p.listed, t)
		p.tools[key] = t
	}
	return known
}

func (p *packer) kin(tool *toolPattern, scope *Rule, f *form) *kin {
	key := kinKey{tool, scope}
	k, ok := p.kins[key]
	if f != nil || !ok {
		k = &kin{tool: tool, scope: scope, form: f}
		p.all = append(p.all, k)
		if f == nil {
			p.kins[key] = k
		}
	}
	return k
}

// scope is the rule without what its record has.
func (p *packer) scope(r *Rule) *Rule {
	key := scopeKey{effect: r.Effect, layer: r.Source.Layer, risk: r.Risk, source: r.Source.Name, file: r.Source.File,
		user: r.UserID, session: r.SessionID, by: r.GrantedBy, others: othersOf(r)}
	known, ok := p.scopes[key]
	if !ok {
		shared := *r
		shared.ID, shared.Pattern, shared.Source.Line, shared.Note, shared.InteractionID = "", "", 0, "", ""
		shared.MaxUses, shared.Uses, shared.ExpiresAt, shared.CreatedAt = 0, 0, time.Time{}, time.Time{}
		known = &shared
		p.scopes[key] = known
	}
	return known
}

// othersOf is the JSON of what few rules have and many may share.
func othersOf(r *Rule) string {
	a := &r.Approval
	plain := a.Reviewers == nil && a.Quorum == 0 && !a.ExcludeRequester && a.Timeout == 0 && a.OnTimeout == "" &&
		a.RemindEvery == 0 && a.Escalate == nil && r.Givers == nil
	if plain {
		return string(a.MaxGrant)
	}
	text, _ := json.Marshal(struct { // nothing in it can fail
		Approval Approval
		Givers   []Giver
	}{r.Approval, r.Givers})
	return string(text)
}

// recordable reports whether a record can say what is the rule's own. Others are kept as they are.
func recordable(r *Rule, tool, arg string, bare bool) bool {
	spelled := tool
	if !bare {
		spelled = tool + "(" + arg + ")"
	}
	return len(arg) <= math.MaxUint16 && r.Pattern == spelled && len(r.Where) == 0 && r.Source.Line >= 0 &&
		recordableTime(r.ExpiresAt) && recordableTime(r.CreatedAt)
}

func recordableTime(t time.Time) bool {
	return t.IsZero() || t.Location() == time.UTC && t == t.Round(0)
}

// What a record has after its pattern, in this order.
const (
	hasID = 1 << iota
	hasUUID
	hasLine
	hasCreated
	hasExpires
	hasUses
	hasNote
	hasInteraction
)

// epoch makes the times of rules small numbers.
const epoch = 1_700_000_000

func appendRecord(out []byte, r *Rule) []byte {
	uuid, isUUID := parseUUID(r.ID)
	var has byte
	for bit, there := range map[byte]bool{hasUUID: isUUID, hasID: !isUUID && r.ID != "", hasLine: r.Source.Line > 0, hasCreated: !r.CreatedAt.IsZero(),
		hasExpires: !r.ExpiresAt.IsZero(), hasUses: r.MaxUses > 0 || r.Uses > 0, hasNote: r.Note != "", hasInteraction: r.InteractionID != ""} {
		if there {
			has |= bit
		}
	}
	out = append(out, has)
	if has&hasID != 0 {
		out = appendText(out, r.ID)
	}
	if has&hasUUID != 0 {
		out = append(out, uuid[:]...)
	}
	if has&hasLine != 0 {
		out = binary.AppendUvarint(out, uint64(r.Source.Line))
	}
	if has&hasCreated != 0 {
		out = appendTime(out, r.CreatedAt)
	}
	if has&hasExpires != 0 {
		out = appendTime(out, r.ExpiresAt)
	}
	if has&hasUses != 0 {
		out = binary.AppendUvarint(binary.AppendUvarint(out, uint64(r.MaxUses)), uint64(r.Uses))
	}
	if has&hasNote != 0 {
		out = appendText(out, r.Note)
	}
	if has&hasInteraction != 0 {
		out = appendText(out, r.InteractionID)
	}
	return out
}

func appendText(out []byte, s string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(s))), s...)
}

func appendTime(out []byte, t time.Time) []byte {
	out = binary.AppendVarint(out, t.Unix()-epoch)
	return binary.AppendUvarint(out, uint64(t.Nanosecond()))
}

// parseUUID reads an id in the usual form of a UUID, small letters.
func parseUUID(s string) (id [16]byte, ok bool) {
	if len(s) != 36 || s != strings.ToLower(s) || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return id, false
	}
	n, err := hex.Decode(id[:], []byte(s[:8]+s[9:13]+s[14:18]+s[19:23]+s[24:]))
	return id, err == nil && n == len(id)
}

func showUUID(id string) string {
	s := hex.EncodeToString([]byte(id))
	return s[:8] + "-" + s[8:12] + "-" + s[12:16] + "-" + s[16:20] + "-" + s[20:]
}

// rule is the rule as it was given.
func (c *compiled) rule() Rule {
	if c.has(isWhole) {
		return *c.kin.scope
	}
	r := *c.kin.scope
	r.Pattern = c.kin.tool.text
	if !c.bare() {
		r.Pattern += "(" + c.arg() + ")"
	}
	rec := c.record()
	has := rec.byte()
	if has&hasID != 0 {
		r.ID = rec.text()
	}
	if has&hasUUID != 0 {
		r.ID = showUUID(rec.take(16))
	}
	if has&hasLine != 0 {
		r.Source.Line = rec.int()
	}
	if has&hasCreated != 0 {
		r.CreatedAt = rec.time()
	}
	if has&hasExpires != 0 {
		r.ExpiresAt = rec.time()
	}
	if has&hasUses != 0 {
		r.MaxUses, r.Uses = rec.int(), rec.int()
	}
	if has&hasNote != 0 {
		r.Note = rec.text()
	}
	if has&hasInteraction != 0 {
		r.InteractionID = rec.text()
	}
	return r
}

// record is what is left to read of a record.
type record struct{ rest string }

func (c *compiled) record() record { return record{c.kin.text[c.at+uint32(c.size):]} }

func (r *record) take(n int) string {
	out := r.rest[:n]
	r.rest = r.rest[n:]
	return out
}

func (r *record) byte() byte { return r.take(1)[0] }

func (r *record) uvarint() (n uint64) {
	for shift := 0; ; shift += 7 {
		b := r.byte()
		n |= uint64(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
}

func (r *record) int() int { return int(r.uvarint()) }

func (r *record) text() string { return strings.Clone(r.take(r.int())) }

func (r *record) time() time.Time {
	n := r.uvarint()
	seconds := int64(n>>1) ^ -int64(n&1)
	return time.Unix(seconds+epoch, int64(r.uvarint())).UTC()
}
