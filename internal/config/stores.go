package config

import (
	"net/url"
	"strings"
	"time"
)

// saidOff is what a configuration says for EncryptionOff, if anything.
const saidOff = "off"

func readPermissionStore(s *section, name string) {
	s.l.config.PermissionStores = append(s.l.config.PermissionStores, s.store(name))
}

func readSessionStore(s *section, name string) {
	st := s.store(name)
	if st.KeepFor = s.duration("keep_for"); st.KeepFor != 0 && st.KeepFor < time.Hour {
		s.reportKey("keep_for", "is less than an hour: what people are looking at would go")
	}
	if old := s.l.config.KeepFor(); old != 0 && st.KeepFor != 0 && old != st.KeepFor {
		s.reportKey("keep_for", "another session store says %s, and they are one database: say the same", old)
	}
	if said := s.choice("encryption"); said != saidOff {
		st.Encryption = Encryption(said)
	}
	for _, other := range s.l.config.SessionStores {
		if other.Encryption != st.Encryption {
			s.reportKey("encryption", "another session store says another, and they are one database: say the same")
			break
		}
	}
	s.l.config.SessionStores = append(s.l.config.SessionStores, st)
}

func (s *section) store(name string) Store {
	st := Store{Name: name, Pos: s.pos(), Type: StoreType(s.choice("store_type"))}
	switch st.Type {
	case StoreSQLite:
		st.DSN = s.database("dsn")
	case StorePostgres:
		st.Conn = NewSecret(s.connection("dsn"))
	case StoreMongoDB:
		st.Conn, st.Database = NewSecret(s.mongoURI("mongo_uri")), s.text("mongo_db_name")
	case StoreInMemory:
	default: // reported; dsn can't be judged
	}
	return st
}

// mongoURI returns a connection string of MongoDB. It is a secret, so no message quotes it.
func (s *section) mongoURI(key string) string {
	text := s.text(key)
	if text != "" && !strings.HasPrefix(text, "mongodb://") && !strings.HasPrefix(text, "mongodb+srv://") {
		s.reportKey(key, "must be a connection string, such as mongodb://holdpoint:${DB_PASSWORD}@db.example.com:27017")
	}
	return text
}

// database returns the absolute path of an SQLite file. How it is opened is not the configuration's to say:
// a wrong pragma would lose writes.
func (s *section) database(key string) string {
	text := s.text(key)
	if strings.HasPrefix(text, "file:") || strings.HasPrefix(text, ":") || strings.Contains(text, "?") {
		s.reportKey(key, "must be the path of a file, without file: or options (for a database in memory: store_type: inmemory)")
		return ""
	}
	return s.resolvePath(key, text)
}

// connection returns a connection string of PostgreSQL: a URL, or key=value pairs. It is a secret, so no message
// quotes it.
func (s *section) connection(key string) string {
	text := s.text(key)
	if text == "" {
		return ""
	}
	if !strings.HasPrefix(text, "postgres://") && !strings.HasPrefix(text, "postgresql://") {
		if !strings.Contains(text, "=") {
			s.reportKey(key, "must be a connection string, such as postgres://holdpoint:${DB_PASSWORD}@db.example.com:5432/holdpoint")
		}
		return text
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Fragment != "":
		s.reportKey(key, "can't be read as postgres://user:password@host:5432/database: write special characters of the password "+
			"as %%xx, or give the password by the environment variable PGPASSWORD")
	case strings.Trim(u.Path, "/") == "" && !u.Query().Has("dbname"):
		s.reportKey(key, "names no database: end it with the database's name, such as postgres://db.example.com:5432/holdpoint")
	}
	return text
}
