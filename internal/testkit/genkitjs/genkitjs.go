// Package genkitjs lets tests drive a server of the agents API with the vendor's own
// client for JavaScript, genkit/beta/client.
package genkitjs

import (
	"embed"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/nodeenv"
)

// The lock file names three packages of the vendor and none of their dependencies, because the
// client imports nothing else.
//
//go:embed testdata/package.json testdata/package-lock.json
var manifests embed.FS

// Install returns a client in the lock file's version, like nodeenv.Install.
func Install(t testing.TB) *nodeenv.Client {
	t.Helper()
	return nodeenv.Install(t, manifests)
}
