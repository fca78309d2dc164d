package builtin

import (
	"io"
	"os"
)

// Program is a program that runs beside a worker and is talked to through its standard input and output, as an MCP
// server is. It and everything that it starts end with Close, and with the worker, however that ends.
type Program struct {
	// Stdin is written to, and Stdout and Stderr are read. Their ends are what the program makes of them.
	Stdin          io.WriteCloser
	Stdout, Stderr io.ReadCloser
	end            func() error
}

// Serve starts a program in a directory with the scrubbed environment of commands and the extras, each NAME=value.
// argv[0] is an absolute path.
func Serve(argv []string, dir string, extras []string) (*Program, error) {
	return startProgram(command{argv: argv, dir: dir, env: workerEnviron(extras)})
}

// Close ends the program and everything that it started: it is asked to, by a signal, and killed if it stays. It
// returns within three seconds.
func (p *Program) Close() error { return p.end() }

// pipes are three pipes: ours are the ends of the worker, theirs those of the program.
func pipes() (p *Program, theirs [3]*os.File, err error) {
	var ours [3]*os.File
	for i := range ours {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(ours[:]...)
			closeAll(theirs[:]...)
			return nil, theirs, err
		}
		if ours[i], theirs[i] = r, w; i == 0 {
			ours[i], theirs[i] = w, r
		}
	}
	return &Program{Stdin: ours[0], Stdout: ours[1], Stderr: ours[2]}, theirs, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close()
		}
	}
}
