package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// DevInfo says how to reach a Holdpoint that Dev runs. It is kept in the data directory, readable by its owner
// alone, so that the CLI needs no flags there.
type DevInfo struct {
	URL             string `json:"url"`
	Token           string `json:"token"`
	TemporalAddress string `json:"temporal_address"`
	TemporalUI      string `json:"temporal_ui,omitempty"`
	Config          string `json:"config,omitempty"` // "" where nothing is configured
	TaskQueue       string `json:"task_queue,omitempty"`
	PID             int    `json:"pid"`
}

func devInfoPath(data string) string { return filepath.Join(data, privateDir, "dev.json") }

// ReadDevInfo returns what Dev wrote in dataDir.
func ReadDevInfo(dataDir string) (DevInfo, error) {
	var info DevInfo
	b, err := os.ReadFile(devInfoPath(dataDir))
	if errors.Is(err, fs.ErrNotExist) {
		return info, fmt.Errorf("no holdpoint dev has run with the data directory %s: start one with `holdpoint dev`, or name a bridge with --addr and --token", dataDir)
	}
	if err != nil {
		return info, err
	}
	if err := json.Unmarshal(b, &info); err != nil {
		return info, fmt.Errorf("%s: %w", devInfoPath(dataDir), err)
	}
	return info, nil
}

// writeDevInfo replaces the file in one step, so that a reader never sees half of it.
func writeDevInfo(data string, info DevInfo) error {
	b, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return err
	}
	path := devInfoPath(data)
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// orDev names the configuration of the holdpoint dev that runs on the data directory, or ran there, where none is named.
func (o Options) orDev() Options {
	if info, err := ReadDevInfo(o.Data); o.Config == "" && err == nil {
		o.Config = info.Config
	}
	return o
}
