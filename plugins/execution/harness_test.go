package execution_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/execution"
	"github.com/agentruntime/agentruntime/spec"
)

// plugin is a plugin that is only its registration.
type plugin func(r *plugins.Registrar)

func (p plugin) Descriptor() plugins.Descriptor { return plugins.Descriptor{} }

func (p plugin) Register(r *plugins.Registrar) error { p(r); return nil }

// load names plugins p0, p1 and so on.
func load(list ...plugin) []execution.Loaded {
	var loaded []execution.Loaded
	for i, p := range list {
		loaded = append(loaded, execution.Loaded{ID: fmt.Sprintf("p%d", i), Plugin: p})
	}
	return loaded
}

// engine returns an engine over the plugins.
func engine(t *testing.T, list ...plugin) *execution.Engine {
	t.Helper()
	env, errs := execution.Build(&spec.Agent{ID: "a"}, load(list...), nil)
	if errs != nil {
		t.Fatal(errors.Join(errs...))
	}
	return execution.NewEngine(env, nil)
}

// run runs a phase that must succeed.
func run(t *testing.T, e *execution.Engine, phase plugins.Phase) {
	t.Helper()
	if err := e.Run(t.Context(), phase); err != nil {
		t.Fatal(err)
	}
}
