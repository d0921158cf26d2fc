package openai

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/surfacetest"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
	"github.com/agentruntime/agentruntime/service"
)

// world is a server of the surface.
type world struct {
	*surfacetest.World
	t testing.TB
}

func serving(t testing.TB) *world {
	t.Helper()
	return &world{surfacetest.Serve(t, func(s *service.Service) (server.Surface, error) { return New(server.SurfaceSettings{Service: s}) }), t}
}

// get decodes the answer to a request of alice.
func get[T any](w *world, request, body string) T {
	w.t.Helper()
	return surfacetest.Get[T](w.World, request, body)
}

// failing wants an error, and returns its code and parameter.
func (w *world) failing(key, request, body string, status int) string {
	w.t.Helper()
	var got run.ErrorBody
	if err := json.Unmarshal(w.Ask(key, request, body, status), &got); err != nil {
		w.t.Fatal(err)
	}
	said := func(s *string) string {
		if s == nil {
			return "-"
		}
		return *s
	}
	if got.Error.Message == "" || got.Error.Type == "" {
		w.t.Errorf("%s: %+v", request, got)
	}
	return said(got.Error.Code) + " " + said(got.Error.Param)
}
