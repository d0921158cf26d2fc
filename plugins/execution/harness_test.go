package plugins_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
)

// plugin is a plugin that is only its registration.
type plugin func(r *plugins.Registrar)

func (p plugin) Descriptor() plugins.Descriptor { return plugins.Descriptor{} }

func (p plugin) Register(r *plugins.Registrar) error { p(r); return nil }

// load names plugins p0, p1 and so on.
func load(list ...plugin) []plugins.Loaded {
	var loaded []plugins.Loaded
	for i, p := range list {
		loaded = append(loaded, plugins.Loaded{ID: fmt.Sprintf("p%d", i), Plugin: p})
	}
	return loaded
}

// engine returns an engine over the plugins.
func engine(t *testing.T, list ...plugin) *plugins.Engine {
	t.Helper()
	env, errs := plugins.Build(&spec.Agent{ID: "a"}, load(list...), nil)
	if errs != nil {
		t.Fatal(errors.Join(errs...))
	}
	return plugins.NewEngine(env, nil)
}

// run runs a phase that must succeed.
func run(t *testing.T, e *plugins.Engine, phase plugins.Phase) {
	t.Helper()
	if _, err := e.Run(t.Context(), phase); err != nil {
		t.Fatal(err)
	}
}
