// Package a2asdk lets tests drive the official A2A SDKs, those for JavaScript, one per protocol
// version, and the one for Python: as clients of a server under test, and as servers with a
// scripted agent for a client under test. All use this package's vocabulary, so that one test
// serves them all.
package a2asdk

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/needs"
)

// Version is a version of the protocol and thus of an SDK.
type Version string

// The versions and their SDKs.
const (
	V10 Version = "10" // 1.0: @a2a-js/sdk 1.3.0
	V03 Version = "03" // 0.3: @a2a-js/sdk 0.3.14
	// Python is not a JavaScript version: 1.0 in a2a-sdk 1.3.0.
	Python Version = "python"
)

// jsVersions are the JavaScript versions, newest first.
var jsVersions = []Version{V10, V03}

//go:embed testdata/node/*.mjs testdata/node/*.json testdata/python/*
var scripts embed.FS

// installTimeout limits the time for npm.
const installTimeout = 2 * time.Minute

var installed = sync.OnceValues(installDrivers)

// requireInstalled returns the directory with the drivers and the SDKs, in the versions of the lock
// file. It is created once per test binary and removed with it. Without Node.js 20, npm or the
// network, the test is skipped, or fails in CI. Short tests are skipped.
func requireInstalled(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("npm takes a while")
	}
	dir, err := installed()
	if err != nil {
		needs.Missing(t, err)
	}
	return dir
}

func installDrivers() (string, error) {
	npm, err := exec.LookPath("npm")
	if _, missing := exec.LookPath("node"); err != nil || missing != nil {
		return "", errors.New("no Node.js: node and npm are not in PATH")
	}
	dir, err := os.MkdirTemp("", "a2asdk")
	if err != nil {
		return "", fmt.Errorf("make a directory for the SDKs: %w", err)
	}
	if err := errors.Join(removeAtExit(dir), unpackDrivers(dir, "testdata/node")); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), installTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if said, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci does not install the SDKs of A2A: %w\n%s", err, said)
	}
	return dir, nil
}

// removeAtExit removes the directory when the test binary has ended, however it ended: a shell
// waits for the end of a pipe that is never written to.
func removeAtExit(dir string) error {
	end, leash, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make a pipe: %w", err)
	}
	defer end.Close() // the shell has a copy
	cmd := exec.Command("sh", "-c", `trap '' INT TERM HUP; cat; rm -rf "$1"`, "a2asdk-keeper", dir)
	cmd.Stdin = end
	if err := cmd.Start(); err != nil {
		return errors.Join(fmt.Errorf("start the keeper of the SDKs: %w", err), leash.Close(), os.RemoveAll(dir))
	}
	leashes = append(leashes, leash)
	return nil
}

// leashes stay open until the test binary ends.
var leashes []*os.File

// unpackDrivers writes the drivers of a language, the manifest and its lock file.
func unpackDrivers(dir, from string) error {
	files, err := fs.Sub(scripts, from)
	if err != nil {
		return fmt.Errorf("find the drivers: %w", err)
	}
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		return fmt.Errorf("list the drivers: %w", err)
	}
	for _, entry := range entries {
		data, err := fs.ReadFile(files, entry.Name())
		if err != nil {
			return fmt.Errorf("read a driver: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, entry.Name()), data, 0o600); err != nil {
			return fmt.Errorf("write a driver: %w", err)
		}
	}
	return nil
}
