package provider

import (
	"time"

	"github.com/agentruntime/agentruntime/backend"
)

// LimitAnswers sets the time limit for a provider's answers. It must be called before the first
// turn.
func LimitAnswers(p backend.AgentProvider, limit time.Duration) { p.(*provider).host.answers = limit }
