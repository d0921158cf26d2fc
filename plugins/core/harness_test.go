package core_test

import (
	"context"

	"github.com/agentruntime/agentruntime/plugins"
)

// planner is a plugin that is only its registration.
type planner func(r *plugins.Registrar)

func (p planner) Descriptor() plugins.Descriptor { return plugins.Descriptor{} }

func (p planner) Register(r *plugins.Registrar) error { p(r); return nil }

// schedule returns a hook that schedules an action.
func schedule(key string, payload any) plugins.Hook {
	return func(_ context.Context, c *plugins.PhaseContext) error { c.Schedule(key, payload); return nil }
}
