package execution

import (
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
)

// Build registers the plugins in order and returns their environment. The sections are the decoded
// settings of the agent, by claim. If the agent's active_hook_filter is not empty, only the plugins
// it names and core plugins contribute hooks, gates, transforms and tools. Build returns all
// errors, each a *RegisterError; a panic in Register is one of them.
func Build(agent *spec.Agent, loaded []Loaded, sections map[plugins.Claim]any) (*Env, []error) {
	env := &Env{
		plugins: loaded,
		hooks:   make([]taggedHook, 0, 2*len(loaded)),
		actions: make([]actionHandler, 0, 8),
		keys:    make([]keyRegistration, 0, 4),
	}
	var errs []error
	given := &struct {
		plugins.Registrar
		registrar registrar
	}{registrar: registrar{env: env, agent: agent, sections: sections}}
	r := &given.registrar
	given.Registry = r
	for i := range loaded {
		l := &loaded[i]
		r.owner, r.errs = l.ID, nil
		r.active = l.Core || len(agent.ActiveHookFilter) == 0 || slices.Contains(agent.ActiveHookFilter, l.ID)
		if err := registerPlugin(l.Plugin, &given.Registrar); err != nil {
			r.Fail(err)
		}
		for _, err := range r.errs {
			errs = append(errs, &RegisterError{Plugin: l.ID, Err: err})
		}
	}
	return env, errs
}

func registerPlugin(p plugins.Plugin, r *plugins.Registrar) (err error) {
	defer panics.Handle(func(p *panics.Error) {
		err = fmt.Errorf("panic in Register: %v", p.Value)
	})
	return p.Register(r)
}
