// Package genkitjs lets tests drive a server of the agents API with the vendor's own
// client for JavaScript, genkit/beta/client.
package genkitjs

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/needs"
)

// The lock file names three packages of the vendor and none that they depend on: the
// client imports nothing else.
//
//go:embed testdata/package.json testdata/package-lock.json
var manifests embed.FS

const (
	// installTimeout bounds what npm takes, and runTimeout one program.
	installTimeout = 2 * time.Minute
	runTimeout     = time.Minute
)

// Client runs programs that import genkit/beta/client.
type Client struct {
	node, dir string
}

// Install returns a client in the version of the lock file. The test is skipped without
// Node.js, npm or a network, and fails in CI. Short tests are skipped.
func Install(t testing.TB) *Client {
	t.Helper()
	if testing.Short() {
		t.Skip("npm takes a while")
	}
	c := &Client{dir: t.TempDir()}
	if err := c.install(t.Context()); err != nil {
		needs.Missing(t, err)
	}
	return c
}

func (c *Client) install(ctx context.Context) (err error) {
	if c.node, err = exec.LookPath("node"); err != nil {
		return errors.New("no Node.js: node is not in PATH")
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return errors.New("no Node.js: npm is not in PATH")
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := manifests.ReadFile("testdata/" + name)
		if err == nil {
			err = os.WriteFile(filepath.Join(c.dir, name), data, 0o600)
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, installTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = c.dir
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci does not install genkit: %w\n%s", err, said)
	}
	return nil
}

// Run runs a program with arguments. The test fails if the program does.
func (c *Client) Run(t testing.TB, program []byte, args ...string) {
	t.Helper()
	path := filepath.Join(c.dir, "program.mjs")
	if err := os.WriteFile(path, program, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), runTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.node, append([]string{path}, args...)...)
	cmd.Dir = c.dir
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, said)
	} else {
		t.Logf("%s", said)
	}
}
