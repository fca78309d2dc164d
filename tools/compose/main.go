// Command compose reads a docker-compose.yml as Docker Compose does (schema, merges, variables, references among its
// parts) and prints the resolved model as JSON, services of every profile included. Its exit code is 1 if that fails.
//
//	go run . FILE [NAME=VALUE…]
//
// It is a module of its own, so that what it needs stays out of Holdpoint's.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "name a compose file")
		os.Exit(2)
	}
	if err := show(os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func show(file string, env []string) error {
	ctx := context.Background()
	o, err := cli.NewProjectOptions([]string{file}, cli.WithEnv(env), cli.WithProfiles([]string{"*"}))
	if err != nil {
		return err
	}
	p, err := o.LoadProject(ctx)
	if err != nil {
		return err
	}
	out, err := p.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(out)
	return err
}
