package config

import "strings"

func readPermissionStore(s *section, name string) {
	s.l.config.PermissionStores = append(s.l.config.PermissionStores, s.store(name, "postgres", "mongodb"))
}

func readSessionStore(s *section, name string) {
	s.l.config.SessionStores = append(s.l.config.SessionStores, s.store(name, "postgres"))
}

func (s *section) store(name string, later ...string) Store {
	s.require("store_type")
	s.later("mongo_uri", "mongo_db_name")
	st := Store{Name: name, Pos: s.pos()}
	st.Type = StoreType(s.choice("store_type", []string{string(StoreInMemory), string(StoreSQLite)}, later))
	switch st.Type {
	case StoreSQLite:
		s.require("dsn")
		st.DSN = s.database("dsn")
	case StoreInMemory:
		s.foreign("store_type inmemory has no database file", "dsn")
	default: // reported; dsn can't be judged
		s.known = append(s.known, "dsn")
	}
	return st
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
