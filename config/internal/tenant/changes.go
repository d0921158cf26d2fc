package tenant

import "slices"

// Changes lists the entries that an overlay changes.
type Changes struct {
	// Agents, Tools and Workflows differ from the configuration's, including agents that extend
	// changed ones. OwnTools and OwnWorkflows do not exist in the configuration.
	Agents, Tools, OwnTools, Workflows, OwnWorkflows []string
	// Removed are ids by registry.
	Removed map[string][]string
	// extended lists the agents extended by agents of the overlay.
	extended []string
}

// addWorkflow records a workflow that the overlay adds, changes, or both.
func (o *Changes) addWorkflow(id string) {
	if !slices.Contains(o.Workflows, id) {
		o.Workflows = append(o.Workflows, id)
	}
}
