package aisdk

import (
	"embed"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/nodeenv"
	"github.com/agentruntime/agentruntime/internal/testkit/surfacetest"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
)

//go:embed testdata/package.json testdata/package-lock.json testdata/client.mjs
var manifests embed.FS

func serve(t testing.TB) *surfacetest.World {
	t.Helper()
	mount := func(s *service.Service) (server.Surface, error) { return New(server.SurfaceSettings{Service: s}) }
	return surfacetest.Serve(t, mount, surfacetest.AddBoss)
}

func TestUseChat(t *testing.T) {
	t.Parallel()
	program, err := manifests.ReadFile("testdata/client.mjs")
	if err != nil {
		t.Fatal(err)
	}
	w := serve(t)
	nodeenv.Install(t, manifests).Run(t, program, w.URL)
	if n := w.Pay.Count(); n != 1 {
		t.Errorf("pay ran %d times, want once", n)
	}
}
