package service

import (
	"context"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/runtime"
)

// Service runs turns stored in a store: a turn outlives its caller, the process and the machine.
// Each part, such as Turns or Sessions, has the methods for its records. A service is safe for
// concurrent use. Several processes may serve one store if the store allows it.
type Service struct {
	*core
	*Agents
	*EventLog
	*Interactions
	*Sessions
	*Snapshots
	*Turns
	*Variables
	*Webhooks
	*Workspaces

	starts *starts
	cancel context.CancelCauseFunc
	tasks  sync.WaitGroup
}

// Runtime returns the runtime that runs the turns; nil for a read-only service.
func (s *Service) Runtime() *runtime.AgentRuntime { return s.settings.Runtime }

// Worker returns the name of this process among those that use the store.
func (s *Service) Worker() string { return s.settings.Worker }

// NewID returns a new id in the service's format.
func (s *Service) NewID() string { return s.settings.NewID() }

// Now returns the service's time.
func (s *Service) Now() time.Time { return s.now() }
