package config

import "slices"

// overlayChanges is what an overlay changes.
type overlayChanges struct {
	// agents, tools and workflows differ from the configuration's, including agents that extend
	// changed ones. ownTools and ownWorkflows do not exist in the configuration.
	agents, tools, ownTools, workflows, ownWorkflows []string
	// removed are ids by registry.
	removed map[string][]string
	// extended lists the agents extended by agents of the overlay.
	extended []string
}

// addWorkflow records a workflow that the overlay adds, changes, or both.
func (o *overlayChanges) addWorkflow(id string) {
	if !slices.Contains(o.workflows, id) {
		o.workflows = append(o.workflows, id)
	}
}
