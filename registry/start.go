package registry

import (
	"github.com/agentruntime/agentruntime/backend"
)

// StartProviders starts the agent providers that can start before they are used, if
// wanted reports so for their id; nil wants all. It returns at once, and starting a
// provider again changes nothing.
func (s *Set) StartProviders(wanted func(id string) bool) {
	for id, p := range s.AgentProviders.All() {
		starter, ok := p.(backend.Starter)
		if ok && (wanted == nil || wanted(id)) {
			starter.Start()
		}
	}
}
