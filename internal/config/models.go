package config

import (
	"net/url"
	"os"
	"path/filepath"
)

func readModel(s *section, name string) {
	m := Model{Name: name, Pos: s.pos(), Params: s.free("params"), Timeout: s.duration("timeout")}
	m.Provider = Provider(s.choice("provider"))
	m.Model, m.BaseURL, m.APIKey = s.text("model"), s.endpoint("base_url"), NewSecret(s.text("api_key"))
	m.Script = s.existingFile("script")
	if variable, ok := keyVariables[m.Provider]; ok && !s.has("api_key") && !s.has("base_url") {
		s.reportKey("api_key", "is missing: write %q, or name another endpoint by base_url", "api_key: ${"+variable+"}")
	}
	s.l.config.Models = append(s.l.config.Models, m)
}

// keyVariables are where the keys of hosted providers usually are.
var keyVariables = map[Provider]string{ProviderAnthropic: "ANTHROPIC_API_KEY", ProviderOpenAI: "OPENAI_API_KEY"}

// endpoint returns an http or https URL without credentials.
func (s *section) endpoint(key string) string {
	text := s.text(key)
	if text == "" {
		return ""
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		s.reportKey(key, "must be a URL such as https://api.example.com/v1")
	case u.User != nil && key == "url":
		s.reportKey(key, "must not have credentials in it: use headers")
	case u.User != nil:
		s.reportKey(key, "must not have credentials in it: use api_key")
	case u.RawQuery != "" || u.Fragment != "":
		s.reportKey(key, "must not have a query or a fragment")
	}
	return text
}

// path returns an absolute path; a relative one starts at the directory of the file that has it.
func (s *section) path(key string) string { return s.resolvePath(key, s.text(key)) }

func (s *section) resolvePath(key, text string) string {
	if text == "" {
		return ""
	}
	if filepath.IsAbs(text) {
		return filepath.Clean(text)
	}
	abs, err := filepath.Abs(filepath.Join(filepath.Dir(s.file), text))
	if err != nil {
		s.reportKey(key, "can't be made an absolute path: %v", err)
		return ""
	}
	return abs
}

func (s *section) existingFile(key string) string {
	path := s.path(key)
	if path == "" {
		return "" // not there, or reported
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		s.reportKey(key, "there is no such file, seen from the directory of this one")
	case !info.Mode().IsRegular():
		s.reportKey(key, "is not a file")
	}
	return path
}
