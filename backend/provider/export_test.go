package provider

import (
	"time"

	"github.com/agentruntime/agentruntime/backend"
)

// LimitAnswers sets how long a provider may take to answer. It must be called before the first turn.
func LimitAnswers(p backend.AgentProvider, limit time.Duration) { p.(*Provider).host.answers = limit }
