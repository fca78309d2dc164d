// Package demo is what `holdpoint dev` shows when nothing is configured: a small project with a failing test, and
// an agent that wants to run the test and mend the program. The files it brings are in files/.
//
// Start at Write.
package demo

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Agent is the demo's agent, Input what its run is started with, and Key that run's idempotency key: one data
// directory has one.
const (
	Agent = "demo"
	Input = "The test of this project fails. Find out why and mend it."
	Key   = "holdpoint-demo"
)

// The real models of the demo, unless OPENAI_MODEL or ANTHROPIC_MODEL names another.
const (
	DefaultOpenAI    = "gpt-4.1-mini"
	DefaultAnthropic = "claude-haiku-5-5"
)

//go:embed all:files
var files embed.FS

// Write puts the demo below the data directory and returns the path of its configuration. The configuration is
// written anew each time; the project is left as it is once it is there, so what a run mended stays mended.
//
// The model is scripted unless getenv knows OPENAI_API_KEY or OPENAI_BASE_URL, or ANTHROPIC_API_KEY or
// ANTHROPIC_BASE_URL. OpenAI's come first.
func Write(data string, getenv func(string) (string, bool)) (config string, err error) {
	root := filepath.Join(data, "demo")
	config = filepath.Join(root, "config")
	if err := copyTree("files/config", config); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(config, "model.yaml"), []byte(model(getenv)), 0o600); err != nil {
		return "", err
	}
	return config, writeProject(root)
}

// writeProject appears whole or not at all.
func writeProject(root string) error {
	project := filepath.Join(root, "project")
	if _, err := os.Stat(project); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	half, err := os.MkdirTemp(root, "project-*")
	if err != nil {
		return err
	}
	if err := copyTree("files/project", half); err != nil {
		return errors.Join(err, os.RemoveAll(half))
	}
	if err := os.Chmod(half, 0o755); err != nil {
		return err
	}
	return os.Rename(half, project)
}

func copyTree(from, to string) error {
	return fs.WalkDir(files, from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(to, filepath.FromSlash(strings.TrimPrefix(name, from)))
		if d.IsDir() {
			return os.MkdirAll(target, 0o755)
		}
		content, err := files.ReadFile(name)
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if path.Ext(name) == ".sh" {
			mode = 0o755
		}
		return os.WriteFile(target, content, mode)
	})
}

// providers are the real ones, in the order of looking. The prefix is that of their variables.
var providers = []struct{ name, prefix, model string }{
	{"openai", "OPENAI_", DefaultOpenAI},
	{"anthropic", "ANTHROPIC_", DefaultAnthropic},
}

// model is the component of the demo's model. It names variables and holds no key.
func model(getenv func(string) (string, bool)) string {
	set := func(name string) bool {
		v, ok := getenv(name)
		return ok && v != ""
	}
	for _, p := range providers {
		if !set(p.prefix+"API_KEY") && !set(p.prefix+"BASE_URL") {
			continue
		}
		var b strings.Builder
		fmt.Fprintf(&b, "type: model\nname: %s\nprovider: %s\n", Agent, p.name)
		line := func(key, variable string) bool {
			if set(variable) {
				fmt.Fprintf(&b, "%s: ${%s}\n", key, variable)
				return true
			}
			return false
		}
		line("api_key", p.prefix+"API_KEY")
		line("base_url", p.prefix+"BASE_URL")
		if !line("model", p.prefix+"MODEL") {
			fmt.Fprintf(&b, "model: %s\n", p.model)
		}
		return b.String()
	}
	script, err := files.ReadFile("files/scripted.yaml")
	if err != nil {
		return "" // it is embedded; and a model without a type is refused with its place
	}
	return string(script)
}
