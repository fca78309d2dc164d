package workflows_test

import (
	"crypto/ed25519"
	"time"

	"holdpoint/interaction"
)

// Runs of the property may trust a bridge's key alone: then an answer counts that is signed with it, one that is not signed
// only where the run takes those, and a forged one never. The model tells them apart by how they were made here.

// trust is whose answers a run takes.
type trust string

const (
	trustAll      trust = ""
	trustSigned   trust = "signed"
	trustUnsigned trust = "unsigned too"
)

// seal is what an answer has of a signature.
type seal string

const (
	sealGood   seal = ""
	sealNone   seal = "none"
	sealForged seal = "forged"
)

var rootKey, bridgeKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize)), ed25519.NewKeyFromSeed([]byte("a bridge's key, for tests alone."))

// certificate is of a key that a root key is said to have certified.
func certificate(root ed25519.PrivateKey) interaction.Certificate {
	c := interaction.Certificate{Key: bridgeKey.Public().(ed25519.PublicKey), NotAfter: time.Date(9000, 1, 1, 0, 0, 0, 0, time.UTC)}
	c.Value = ed25519.Sign(root, c.SignedBytes())
	return c
}

var genuine, forged = certificate(rootKey), certificate(bridgeKey)

func (t trust) input() *interaction.Trust {
	switch t {
	case trustSigned:
		return &interaction.Trust{Root: rootKey.Public().(ed25519.PublicKey)}
	case trustUnsigned:
		return &interaction.Trust{Root: rootKey.Public().(ed25519.PublicKey), Unsigned: "low"}
	default:
		return nil
	}
}

// sealed signs an answer, or makes as if.
func (t trust) sealed(r interaction.Response, s seal) interaction.Response {
	if t == trustAll || s == sealNone {
		return r
	}
	signed, err := r.SignedBytes()
	if err != nil {
		panic(err)
	}
	r.Signature = &interaction.Signature{Certificate: genuine, Value: ed25519.Sign(bridgeKey, signed)}
	if s == sealForged {
		r.Signature.Certificate = forged
	}
	return r
}

// objection is what a run says to an answer's seal; "" and it counts. Of a question that is not known yet, nothing is known
// that would speak against an answer without one.
func (t trust) objection(r interaction.Response, known bool) interaction.Code {
	switch {
	case t == trustAll:
		return ""
	case r.Signature == nil && known && t == trustSigned:
		return interaction.CodeNotSigned
	case r.Signature != nil && string(r.Signature.Certificate.Value) != string(genuine.Value):
		return interaction.CodeForged
	default:
		return ""
	}
}
