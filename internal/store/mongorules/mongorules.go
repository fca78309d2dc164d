// Package mongorules keeps the stored rules in MongoDB, where those of several installations may lie together. Runs,
// transcripts and the ledger stay in the SQL store.
//
// The rules of one user are one document for each version; a change inserts the next one, which fails when another
// change was faster and then begins anew. So a save with what it replaces, a template, a revocation of several rules and
// a use are each one step, and concurrent changes lose nothing. Nothing but the uniqueness of _id is asked of the server,
// so transactions and replica sets are not needed. What a version held is emptied two versions later; its number stays
// taken. A rule's id is claimed in a collection of its own first, which makes it unique over all users.
//
// # What is weaker than in the SQL store
//
// Rules are read for a claim, with their version, just before it is committed, and not in its transaction: a revocation
// that is reported in the milliseconds between the two does not stop that one claim. Every check that begins after
// RevokeRules has returned sees it: reads go to the primary and ask for what a majority has, writes wait for a majority.
// The use of a grant is counted before the claim is committed and given back when that fails; a process that dies in
// between leaves it counted, so a bound is never exceeded, but may be reached one call early.
//
// A document has at most 16 MiB, which some 10,000 rules fit in; each change writes all of them. Rules of several users
// are saved one user after the other.
//
// Start at Open.
package mongorules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readconcern"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"
	"go.mongodb.org/mongo-driver/v2/mongo/writeconcern"

	"holdpoint/internal/store"
	"holdpoint/permission"
)

// Config says which database to open.
type Config struct {
	// URI is the connection string, mongodb:// or mongodb+srv://. It is a secret, and no error shows it.
	URI string
	// Database is its name.
	Database string
	// Patience is how long one call waits for a server that is gone. Defaults to 30 s.
	Patience time.Duration
}

// String shows a configuration without its secret.
func (c Config) String() string { return "{URI:******** Database:" + c.Database + "}" }

// GoString is String, so that no verb shows the secret.
func (c Config) GoString() string { return c.String() }

// Rules is an open store of rules. Its methods may be used by many goroutines at once.
type Rules struct {
	client   *mongo.Client
	versions *mongo.Collection // a document for each version of a user's rules
	latest   *mongo.Collection // the number of a late version of each user, to begin looking at
	ids      *mongo.Collection // which user a rule's id belongs to
	patience time.Duration
}

// Open connects, and makes sure that the server answers.
func Open(ctx context.Context, c Config) (*Rules, error) {
	if c.URI == "" || c.Database == "" {
		return nil, errors.New("mongorules: configuration: the URI or the database's name is missing")
	}
	if c.Patience <= 0 {
		c.Patience = 30 * time.Second
	}
	o := options.Client().ApplyURI(c.URI)
	if err := o.Validate(); err != nil { // what it says may quote the password
		return nil, errors.New("mongorules: the URI can't be read: write mongodb://user:password@host:27017, with special characters of the password as %xx")
	}
	o.SetReadConcern(readconcern.Majority()).SetWriteConcern(writeconcern.Majority()).SetReadPreference(readpref.Primary()).
		SetAppName("holdpoint").SetServerSelectionTimeout(c.Patience).SetTimeout(c.Patience)
	client, err := mongo.Connect(o)
	if err != nil {
		return nil, fmt.Errorf("mongorules: %w", err)
	}
	db := client.Database(c.Database)
	r := &Rules{client: client, versions: db.Collection("holdpoint_rules"), latest: db.Collection("holdpoint_rules_latest"),
		ids: db.Collection("holdpoint_rule_ids"), patience: c.Patience}
	if err := r.Ping(ctx); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Ping reports whether the server answers.
func (r *Rules) Ping(ctx context.Context) error {
	return in(r.client.Ping(ctx, readpref.Primary()), "reach the MongoDB server")
}

// Close ends the connections.
func (r *Rules) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return in(r.client.Disconnect(ctx), "close")
}

// document is the rules of one user; "" is the organisation.
type document struct {
	User    string
	Version int64 // grows by one with every change; 0 is no rules yet
	Rules   []entry
}

// entry is one rule with what has become of it.
type entry struct {
	Rule       permission.Rule `json:"rule"`
	Key        string          `json:"key"` // store.RuleKey
	Uses       int             `json:"uses,omitempty"`
	UsedBy     []string        `json:"used_by,omitempty"` // the calls that were counted last
	RevokedAt  int64           `json:"revoked_at,omitempty"`
	RevokedBy  string          `json:"revoked_by,omitempty"`
	ReplacedBy string          `json:"replaced_by,omitempty"`

	beside bool // it may not take the place of one that says more
}

// snapshot is a version as it is stored. Rules is JSON: it is read and written whole. An emptied one has none.
type snapshot struct {
	ID    string `bson:"_id"`
	Rules string `bson:"rules"`
}

// pointer tells a version at which to begin looking for the newest.
type pointer struct {
	User    string `bson:"_id"`
	Version int64  `bson:"version"`
}

func versionID(user string, version int64) string { return fmt.Sprintf("%d:%s", version, user) }

// claim gives an id to a user for ever.
type claim struct {
	ID   string `bson:"_id"`
	User string `bson:"user"`
}

// newest is the number of a user's newest version, 0 for none. A pointer is never ahead, and what it leaves out is found
// by asking for one number after the other.
func (r *Rules) newest(ctx context.Context, user string) (int64, error) {
	var p pointer
	err := r.latest.FindOne(ctx, bson.D{{Key: "_id", Value: user}}).Decode(&p)
	if err != nil && !errors.Is(err, mongo.ErrNoDocuments) {
		return 0, err
	}
	only := options.FindOne().SetProjection(bson.D{{Key: "_id", Value: 1}})
	for {
		var s snapshot
		err := r.versions.FindOne(ctx, bson.D{{Key: "_id", Value: versionID(user, p.Version+1)}}, only).Decode(&s)
		if errors.Is(err, mongo.ErrNoDocuments) {
			return p.Version, nil
		}
		if err != nil {
			return 0, err
		}
		p.Version++
	}
}

// read returns a user's rules. One that is emptied while it is looked for is looked for again.
func (r *Rules) read(ctx context.Context, user string) (document, error) {
	for attempt := 1; ; attempt++ {
		d := document{User: user}
		var err error
		if d.Version, err = r.newest(ctx, user); err != nil || d.Version == 0 {
			return d, err
		}
		var s snapshot
		if err := r.versions.FindOne(ctx, bson.D{{Key: "_id", Value: versionID(user, d.Version)}}).Decode(&s); err != nil {
			return d, err
		}
		if s.Rules != "" {
			return d, json.Unmarshal([]byte(s.Rules), &d.Rules)
		}
		if err := pause(ctx, attempt); err != nil {
			return d, err
		}
	}
}

// errUnchanged ends a change that has nothing to write.
var errUnchanged = errors.New("nothing to change")

// change runs fn on a user's document and writes what it made of it, again from the start when others were faster.
func (r *Rules) change(ctx context.Context, user string, fn func(d *document) error) error {
	began := time.Now()
	for attempt := 1; ; attempt++ {
		d, err := r.read(ctx, user)
		if err != nil {
			return err
		}
		if err := fn(&d); err != nil {
			if errors.Is(err, errUnchanged) {
				return nil
			}
			return err
		}
		d.Version++
		done, err := r.write(ctx, d)
		if err != nil || done {
			return err
		}
		if time.Since(began) >= r.patience {
			return fmt.Errorf("%w: others changed the rules of this user %d times meanwhile", store.ErrBusy, attempt)
		}
		if err := pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// write inserts a version, unless another has taken its number.
func (r *Rules) write(ctx context.Context, d document) (bool, error) {
	body, err := json.Marshal(d.Rules)
	if err != nil {
		return false, err
	}
	_, err = r.versions.InsertOne(ctx, snapshot{versionID(d.User, d.Version), string(body)})
	if mongo.IsDuplicateKeyError(err) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	// The rest is only for speed and space, so its errors cost no more than that: a pointer that was not moved makes the
	// next reader look a little longer.
	_, _ = r.latest.ReplaceOne(ctx, bson.D{{Key: "_id", Value: d.User}}, pointer{d.User, d.Version}, options.Replace().SetUpsert(true))
	if d.Version > 2 {
		_, _ = r.versions.ReplaceOne(ctx, bson.D{{Key: "_id", Value: versionID(d.User, d.Version-2)}}, snapshot{ID: versionID(d.User, d.Version-2)})
	}
	return true, nil
}

// in says where an error happened. It keeps nil nil, and adds to one of the driver that trying later makes sense.
func in(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	if mongo.IsNetworkError(err) || mongo.IsTimeout(err) {
		err = fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return fmt.Errorf("mongorules: %s: %w", fmt.Sprintf(format, args...), err)
}
