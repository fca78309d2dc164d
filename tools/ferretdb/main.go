// Command ferretdb is a server that speaks MongoDB's protocol and keeps its data in SQLite files: for the tests of the
// store of rules. It listens on a free port of loopback, prints its URI in a line, and ends with its standard input, so
// that it never outlives whoever started it.
//
// It is a module of its own, so that what FerretDB depends on stays out of ours.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"

	"github.com/FerretDB/FerretDB/ferretdb"
)

func main() {
	dir := flag.String("data", "", "directory for the data, which must exist")
	flag.Parse()
	if err := run(*dir); err != nil {
		fmt.Fprintln(os.Stderr, "ferretdb:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	data := url.URL{Scheme: "file", Path: dir + "/"}
	server, err := ferretdb.New(&ferretdb.Config{Listener: ferretdb.ListenerConfig{TCP: "127.0.0.1:0"}, Handler: "sqlite",
		SQLiteURL: data.String(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- server.Run(ctx) }()
	fmt.Println(server.MongoDBURI())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return <-ended
}
