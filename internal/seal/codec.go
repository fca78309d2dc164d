package seal

import (
	"context"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/proto"
)

// What marks a sealed payload, in the terms of Temporal's own samples, so that their tools show it as encrypted.
const (
	encodingKey  = "encoding"
	keyIDKey     = "encryption-key-id"
	sealedFormat = "binary/encrypted"
	payloadPlace = "temporal payload"
)

// Codec seals every payload that is written to Temporal, and opens those that come back. One that was never sealed, from
// before or from a command line without the key, is taken as it is: what it may do is decided elsewhere.
type Codec struct{ ring *Ring }

// NewCodec seals with a ring.
func NewCodec(r *Ring) *Codec { return &Codec{r} }

var _ converter.PayloadCodec = (*Codec)(nil)

// Encode seals payloads.
func (c *Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		plain, err := proto.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("seal a payload: %w", err)
		}
		id, sealed := c.ring.Seal(plain, payloadPlace)
		out[i] = &commonpb.Payload{Metadata: map[string][]byte{encodingKey: []byte(sealedFormat), keyIDKey: []byte(id)}, Data: sealed}
	}
	return out, nil
}

// Decode opens payloads.
func (c *Codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if out[i] = p; string(p.GetMetadata()[encodingKey]) != sealedFormat {
			continue
		}
		plain, err := c.ring.Open(string(p.GetMetadata()[keyIDKey]), p.GetData(), payloadPlace)
		if err != nil {
			return nil, err
		}
		out[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(plain, out[i]); err != nil {
			return nil, fmt.Errorf("open a payload: %w", err)
		}
	}
	return out, nil
}

// missingKey is the name of a key that is not there; it is ErrUnknownKey.
type missingKey string

func (k missingKey) Error() string {
	return fmt.Sprintf("it is sealed with the key %q, which this process does not have: add it to HOLDPOINT_ENCRYPTION_KEYS, or the file or command in its place", string(k))
}

func (missingKey) Is(target error) bool { return target == ErrUnknownKey }

// Opens reports what is sealed in a message of Temporal's, such as a history, and does not open. A nil ring opens nothing.
func (r *Ring) Opens(m proto.Message) error {
	open := func(_ *proxy.VisitPayloadsContext, payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
		for _, p := range payloads {
			if string(p.GetMetadata()[encodingKey]) != sealedFormat {
				continue
			}
			id := string(p.GetMetadata()[keyIDKey])
			if r == nil || !r.Has(id) {
				return nil, missingKey(id)
			}
			if _, err := r.Open(id, p.GetData(), payloadPlace); err != nil {
				return nil, err
			}
		}
		return payloads, nil
	}
	return proxy.VisitPayloads(context.Background(), m, proxy.VisitPayloadsOptions{SkipSearchAttributes: true, Visitor: open})
}

// Client has a client, and the workers of it, seal all that they write: messages of failures too. A nil ring changes nothing.
func (r *Ring) Client(o client.Options) client.Options {
	if r == nil {
		return o
	}
	o.DataConverter = r.Converter()
	o.FailureConverter = temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{
		DataConverter: o.DataConverter, EncodeCommonAttributes: true})
	return o
}

// Converter seals what it converts. A nil ring does not.
func (r *Ring) Converter() converter.DataConverter {
	if r == nil {
		return converter.GetDefaultDataConverter()
	}
	return converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), NewCodec(r))
}
