// Package nodeenv lets tests run Node.js programs with the packages of a lock file.
package nodeenv

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/needs"
)

const (
	// installTimeout limits the time for npm, and runTimeout that of one program.
	installTimeout = 2 * time.Minute
	runTimeout     = time.Minute
)

// Client runs programs that import the packages.
type Client struct {
	node, dir string
}

// Install installs the packages of testdata/package.json and testdata/package-lock.json in
// manifests. Without Node.js, npm or a network, the test is skipped, or fails in CI. Short tests
// are skipped.
func Install(t testing.TB, manifests fs.FS) *Client {
	t.Helper()
	if testing.Short() {
		t.Skip("npm takes a while")
	}
	c := &Client{dir: t.TempDir()}
	if err := c.install(t.Context(), manifests); err != nil {
		needs.Missing(t, err)
	}
	return c
}

func (c *Client) install(ctx context.Context, manifests fs.FS) (err error) {
	if c.node, err = exec.LookPath("node"); err != nil {
		return errors.New("no Node.js: node is not in PATH")
	}
	npm, err := exec.LookPath("npm")
	if err != nil {
		return errors.New("no Node.js: npm is not in PATH")
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := fs.ReadFile(manifests, "testdata/"+name)
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
		return fmt.Errorf("npm ci does not install the packages: %w\n%s", err, said)
	}
	return nil
}

// ReadFile returns a file of an installed package, such as preact/LICENSE.
func (c *Client) ReadFile(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(c.Path(name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// Path returns the path of an installed file, such as .bin/tsc.
func (c *Client) Path(name string) string {
	return filepath.Join(c.dir, "node_modules", filepath.FromSlash(name))
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
