package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Limits on what Load reads.
const (
	maxFileBytes = 1 << 20
	maxFiles     = 1000
)

// Load reads the configuration at path, a file or a directory, and checks all of it. env looks a variable up;
// nil means the process's environment. The error is an *Error when the configuration is wrong, and another
// one when it can't be read.
func Load(path string, env func(string) (string, bool)) (*Config, error) {
	if env == nil {
		env = os.LookupEnv
	}
	names, err := list(path)
	if err != nil {
		return nil, err
	}
	sources := make([]source, 0, len(names))
	for _, name := range names {
		data, err := read(name)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source{name: name, data: data})
	}
	return parse(sources, env)
}

// source is one file's text.
type source struct {
	name string
	data []byte
}

// list returns the files of a configuration in the order they are read in.
func list(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("the configuration can't be read: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, fmt.Errorf("the configuration directory can't be read: %w", err)
	}
	var names []string
	for _, e := range entries { // sorted by name
		ext := filepath.Ext(e.Name())
		if e.IsDir() || strings.HasPrefix(e.Name(), ".") || ext != ".yaml" && ext != ".yml" {
			continue
		}
		names = append(names, filepath.Join(path, e.Name()))
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("the configuration directory %s has no *.yaml or *.yml file", path)
	}
	if len(names) > maxFiles {
		return nil, fmt.Errorf("the configuration directory %s has %d files, more than %d", path, len(names), maxFiles)
	}
	return names, nil
}

// read returns a regular file's bytes. A pipe or a device could make it wait for ever.
func read(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("the configuration file can't be read: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("the configuration file %s is not a regular file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("the configuration file can't be read: %w", err)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("the configuration file can't be read: %w", err)
	}
	if len(data) > maxFileBytes {
		return nil, fmt.Errorf("the configuration file %s is larger than %d bytes", name, maxFileBytes)
	}
	return data, nil
}

// loader collects what was read and what is wrong with it.
type loader struct {
	env      func(string) (string, bool)
	config   *Config
	problems []Problem
	files    map[string]int // by place in the order of reading
	seen     map[[2]string]Pos
	// refs are checked once everything is read: a component may name a later one.
	refs []reference
	docs int
}

// reference is one component's use of another's name.
type reference struct {
	pos  Pos
	key  string
	raw  string // as written
	name string
	kind string
	from string // the agent that would call the one that is named
}

func (l *loader) report(file string, line int, key, format string, args ...any) {
	l.problems = append(l.problems, Problem{
		Pos: Pos{File: file, Line: line}, Key: key, Text: fmt.Sprintf(format, args...),
	})
}

// warn is report for what stops nothing.
func (l *loader) warn(file string, line int, key, format string, args ...any) {
	l.config.Warnings = append(l.config.Warnings, Problem{
		Pos: Pos{File: file, Line: line}, Key: key, Text: fmt.Sprintf(format, args...),
	})
}

func parse(sources []source, env func(string) (string, bool)) (*Config, error) {
	l := &loader{env: env, config: &Config{}, files: map[string]int{}, seen: map[[2]string]Pos{}}
	for i, s := range sources {
		l.files[s.name] = i
		l.file(s)
	}
	l.resolve()
	if l.docs == 0 && len(l.problems) == 0 && len(sources) > 0 {
		l.report(sources[0].name, 1, "", "there is no component here: a document starts with %q and %q", "type: agent", "name: …")
	}
	if l.docs > 0 && len(l.config.Specs) == 0 {
		l.warn(sources[0].name, 1, "", "there is no agent here, so no run can be started, of an agent or of a workflow: add a document with %q, "+
			"unless only programs ask by it (holdpoint ask), or a worker with tools alone has it", "type: agent")
	}
	if len(l.problems) > 0 {
		sortProblems(l.problems, l.files)
		return nil, &Error{Problems: l.problems}
	}
	sortProblems(l.config.Warnings, l.files)
	return l.config, nil
}

// file reads every document of one file. A syntax error ends the file, not the configuration.
func (l *loader) file(s source) {
	defer func() {
		// The YAML library recovers from its own panics only; one that it missed must not end the process.
		if r := recover(); r != nil {
			l.report(s.name, 1, "", "can't be read as YAML (%v)", r)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(s.data))
	for {
		var doc yaml.Node
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			line, text := syntaxError(err)
			l.report(s.name, line, "", "%s", text)
			return
		}
		if len(doc.Content) == 1 {
			l.document(s.name, doc.Content[0])
		}
	}
}

var yamlError = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// zeroBased are the messages of the YAML library whose line counts from 0: its parser's. Its scanner's count
// from 1.
var zeroBased = regexp.MustCompile(`^did not find expected (<document start>|node content|'-' indicator|key|',' or)`)

// syntaxError takes the line out of the library's message.
func syntaxError(err error) (int, string) {
	first, _, _ := strings.Cut(err.Error(), "\n")
	m := yamlError.FindStringSubmatch(first)
	if m == nil {
		return 1, "is not YAML: " + first
	}
	line, convErr := strconv.Atoi(m[1])
	if convErr != nil {
		line = 1
	} else if zeroBased.MatchString(m[2]) {
		line++
	}
	return line, "is not YAML: " + m[2]
}

// document reads one component.
func (l *loader) document(file string, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" {
		return // "---" with nothing below it
	}
	l.docs++
	if bad := alias(n, 0); bad != nil {
		l.report(file, bad.Line, "", "anchors, aliases and values nested deeper than %d levels are not read: write the value out", maxDepth*2)
		return
	}
	s := l.section(file, "", n, &anyComponent)
	if s == nil {
		return
	}
	if !s.has("type") && !s.has("name") {
		l.report(file, n.Line, "", "this is no component: it needs a type and a name (a script or other data belongs in a sub-directory)")
		return
	}
	kind, known := kindOf(s.choice("type"))
	if known {
		s.is(kind.object)
	}
	s.require()
	name := s.name()
	if !known {
		return
	}
	l.unique(s, kind.name, name)
	kind.read(s, name)
	s.finish()
	if len(l.problems) == 0 {
		s.effective(kind.name, name)
	}
}

// alias returns the first node that is an anchor, an alias or nested too deep, or nil.
func alias(n *yaml.Node, depth int) *yaml.Node {
	if n.Kind == yaml.AliasNode || n.Anchor != "" || depth > maxDepth*2 {
		return n
	}
	for _, c := range n.Content {
		if bad := alias(c, depth+1); bad != nil {
			return bad
		}
	}
	return nil
}

func joinNames(names []string) string { return strings.Join(names, ", ") }

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

func (s *section) name() string {
	v, ok := s.scalar("name", "text")
	switch {
	case !ok:
		return ""
	case v.expanded: // names are printed; what a variable holds may be secret
		s.report("name", v.line, "must be written out, without a variable")
		return ""
	case !namePattern.MatchString(v.text) || v.tag != "!!str":
		s.report("name", v.line, "must be at most 64 letters, digits, dots, dashes or underscores, the first a letter or digit (in quotes if it is a number)")
		return ""
	}
	return v.text
}

// unique reports the second component of a type and name.
func (l *loader) unique(s *section, kind, name string) {
	if name == "" {
		return
	}
	key := [2]string{kind, name}
	if before, dup := l.seen[key]; dup {
		s.reportKey("name", "%s %q is defined already, at %s: rename one", kind, name, before)
		return
	}
	l.seen[key] = s.pos()
}

// refer notes the use of another component's name, to be checked when all are read.
func (s *section) refer(key string) string {
	kind := s.spec(key).refers
	v, ok := s.scalar(key, "the name of a "+kind)
	if !ok {
		return ""
	}
	s.l.refs = append(s.l.refs, reference{
		pos: Pos{File: s.file, Line: v.line}, key: s.prefix + key, raw: v.raw, name: v.text, kind: kind,
	})
	return v.text
}

// resolve reports every reference that leads nowhere.
func (l *loader) resolve() {
	known := map[string][]string{"tool": slices.Clone(builtins)}
	for key := range l.seen {
		if kind, name := key[0], key[1]; kind != "tool" {
			known[kind] = append(known[kind], name)
		}
	}
	var servers []string
	for _, t := range l.config.Tools {
		switch {
		case t.Server != nil:
			servers = append(servers, t.pattern())
		case !slices.Contains(builtins, t.Name):
			known["tool"] = append(known["tool"], t.Name) // reported
		}
	}
	known["tool"] = append(known["tool"], servers...)
	known[callee] = slices.Concat(known["agent"], known["workflow"])
	for _, names := range known {
		slices.Sort(names)
	}
	for _, r := range l.refs {
		if _, found := slices.BinarySearch(known[r.kind], r.name); !found && !(r.kind == "tool" && namesServer(r.name, servers)) {
			l.report(r.pos.File, r.pos.Line, r.key, "no %s is named %q%s", r.kind, r.raw, didYouMean(r.raw, known[r.kind]))
		}
	}
	l.cycles()
	l.nesting()
}
