// Package config reads the YAML that says what exists: models, tools, stores, policies and agents. One
// document is one component, with a type and a name; a configuration is one file or a directory of them.
//
//	type: model
//	name: local
//	provider: openai
//	model: qwen3
//	base_url: http://127.0.0.1:11434/v1
//	api_key: ${OPENAI_API_KEY}
//	---
//	type: agent
//	name: coder
//	model: local
//	tools: [bash, file_read, file_edit]
//	policy: house
//
// A model's provider is openai (any endpoint that speaks chat completions), anthropic (Anthropic's Messages API),
// or scripted (turns from a file). The params of the first two go into every request as they are.
//
// Reading is strict. A key that nothing reads, a name that nothing defines, a rule that can't be understood
// is a mistake, and all mistakes are reported together, each with its file, line and key. A configuration
// with a mistake is not used at all: a misread policy must never run as a weaker one.
//
// ${NAME} in a value is replaced by that environment variable, which must be set; $$ is one dollar sign, and
// any other $ stands for itself. Paths are relative to the file that has them. Files that a component names,
// such as a scripted model's script, belong in a sub-directory: only *.yaml and *.yml directly in the
// directory are read.
//
// Start at Load and Config.
package config
