// Package devserver runs a Temporal development server as a child process: the official CLI's
// `temporal server start-dev`, on free loopback ports, with an SQLite file or in memory.
//
// The server never outlives the process that started it. Stop ends it in good order. On Linux the kernel
// kills it when the parent is killed, even by SIGKILL (see spawn); on other systems a killed parent leaves it
// behind, and the next Start on the same file says which process to end. Two servers never share a file:
// each holds a lock on it that ends with the server's own life.
//
// Start at Start; Find looks for the CLI.
package devserver
