package registry

import (
	"reflect"

	"github.com/agentruntime/agentruntime/backend"
)

// StartProviders starts the agent providers that can start before use and whose id wanted accepts;
// nil accepts all. It returns immediately, and starting a provider again changes nothing.
func (s *Set) StartProviders(wanted func(id string) bool) {
	for id, p := range s.AgentProviders.All() {
		starter, ok := p.(backend.Starter)
		if ok && (wanted == nil || wanted(id)) {
			starter.Start()
		}
	}
}

// retireProviders notifies the agent providers missing from the current set that only earlier
// revisions use them.
func retireProviders(old, current *Set) {
	kept := make(map[backend.AgentProvider]bool)
	for _, p := range current.AgentProviders.All() {
		if reflect.ValueOf(p).Comparable() {
			kept[p] = true
		}
	}
	for _, p := range old.AgentProviders.All() {
		retirer, ok := p.(backend.Retirer)
		if ok && (!reflect.ValueOf(p).Comparable() || !kept[p]) {
			retirer.Retire()
		}
	}
}
