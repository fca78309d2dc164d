package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
)

// maxProfileBytes bounds the profile file and a token file.
const maxProfileBytes = 1 << 20

// profile is how one bridge is reached, as the profile file says:
//
//	profiles:
//	  team:
//	    addr: https://holdpoint.example
//	    token_file: team.token # beside this file; or token: …
type profile struct {
	Addr      string `yaml:"addr"`
	Token     string `yaml:"token"`
	TokenFile string `yaml:"token_file"`
}

// profilesPath is where the profile file is, whether it is there or not.
func (c *cli) profilesPath() (string, error) {
	if dir, _ := c.getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "holdpoint", "profiles.yaml"), nil
	}
	home, _ := c.getenv("HOME")
	if home == "" {
		return "", errors.New("there is no profile file without a home directory: set XDG_CONFIG_HOME or HOME, or name the bridge with --addr and --token")
	}
	return filepath.Join(home, ".config", "holdpoint", "profiles.yaml"), nil
}

// profile reads one profile, its token included.
func (c *cli) profile(name string) (profile, error) {
	path, err := c.profilesPath()
	if err != nil {
		return profile{}, err
	}
	all, err := readProfiles(path)
	if err != nil {
		return profile{}, err
	}
	p, ok := all[name]
	switch {
	case !ok:
		return p, usage("%s has no profile %q: there are %s", path, name, listed(slices.Sorted(maps.Keys(all))))
	case p.Addr == "":
		return p, fmt.Errorf("%s: profile %q has no addr: say where the bridge is, such as https://holdpoint.example", path, name)
	case p.Token != "" && p.TokenFile != "":
		return p, fmt.Errorf("%s: profile %q has both token and token_file: keep one", path, name)
	case p.TokenFile == "":
		return p, nil
	}
	p.Token, err = readToken(c.beside(path, p.TokenFile))
	if err != nil {
		err = fmt.Errorf("%s: profile %q: token_file: %w", path, name, err)
	}
	return p, err
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// beside resolves a path of the profile file: "~/" is the home directory, and what is relative lies beside the file.
func (c *cli) beside(file, path string) string {
	home, _ := c.getenv("HOME")
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// readProfiles reads the whole file strictly. One that holds a token must be its owner's alone.
func readProfiles(path string) (map[string]profile, error) {
	data, private, err := readOwn(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no profile file %s: write one, or name the bridge with --addr and --token", path)
	}
	if err != nil {
		return nil, fmt.Errorf("the profile file can't be read: %w", err)
	}
	var file struct {
		Profiles map[string]profile `yaml:"profiles"`
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	if err := dec.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %s (a file has profiles, each by its name with addr, and token or token_file)", path, plainYAML(err))
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: more than one YAML document: keep all profiles in the first", path)
	}
	for name, p := range file.Profiles {
		if p.Token != "" && !private {
			return nil, fmt.Errorf("%s holds the token of profile %q and others can read it: chmod 600 %s, and have the token replaced", path, name, shellWord(path))
		}
	}
	return file.Profiles, nil
}

// plainYAML is a YAML error in words for people who know nothing of our types.
func plainYAML(err error) string {
	text := strings.NewReplacer("yaml: unmarshal errors:\n  ", "", "yaml: ", "", " in type main.profile", " in a profile",
		" into main.profile", "").Replace(err.Error())
	if before, _, ok := strings.Cut(text, " in type struct"); ok {
		text = before
	}
	return strings.ReplaceAll(text, "\n  ", "; ")
}

// readToken reads a file that holds nothing but a token, and that nobody else can read.
func readToken(path string) (string, error) {
	data, private, err := readOwn(path)
	switch {
	case err != nil:
		return "", err
	case !private:
		return "", fmt.Errorf("others can read %s: chmod 600 %s, and have the token replaced", path, shellWord(path))
	}
	token := strings.TrimSpace(string(data))
	if token == "" || strings.ContainsAny(token, " \t\r\n") {
		return "", fmt.Errorf("%s does not hold one token and nothing else", path)
	}
	return token, nil
}

// readOwn reads a small regular file. private says that only its owner may read or write it.
func readOwn(path string) (data []byte, private bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, false, err
	case !info.Mode().IsRegular():
		return nil, false, fmt.Errorf("%s is not a regular file", path)
	case info.Size() > maxProfileBytes:
		return nil, false, fmt.Errorf("%s has more than %d bytes", path, maxProfileBytes)
	}
	data, err = io.ReadAll(io.LimitReader(f, maxProfileBytes))
	return data, info.Mode().Perm()&0o077 == 0, err
}
