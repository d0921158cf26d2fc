package core

import (
	"context"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/plugins"
)

// knowledgeCutoff is the plugin that tells a model its knowledge cutoff and the date, so that it
// does not confuse them.
type knowledgeCutoff struct{ cutoff string }

var _ plugins.Plugin = (*knowledgeCutoff)(nil)

// NewKnowledgeCutoff returns the plugin for a model whose knowledge ends at
// cutoff, written YYYY-MM or YYYY-MM-DD.
func NewKnowledgeCutoff(cutoff string) plugins.Plugin { return &knowledgeCutoff{cutoff: cutoff} }

// Descriptor describes the plugin.
func (*knowledgeCutoff) Descriptor() plugins.Descriptor {
	return noSections("Tells the model its knowledge cutoff and today's date.")
}

// cutoffText tells the model its cutoff and the date.
const cutoffText = "Your knowledge ends at %s. Today is %s (UTC). Do not assume that nothing happened in between: " +
	"for anything later than your knowledge, rely on this conversation and on tools."

// Register adds a message after the agent's prompt. It has a date but no time: it stays the same
// for a day, so that prompt caches keep the start of requests.
func (k *knowledgeCutoff) Register(r *plugins.Registrar) error {
	r.Hook(plugins.BeforeInference, func(_ context.Context, p *plugins.PhaseContext) error {
		p.Request().AddContext(plugins.ContextMessage{
			Text: fmt.Sprintf(cutoffText, k.cutoff, p.Now.UTC().Format(time.DateOnly)), Target: plugins.TargetSystem,
		})
		return nil
	})
	return nil
}
