package service

import (
	"slices"

	"github.com/agentruntime/agentruntime/internal/pattern"
)

// AgentSet is a set of agents, given by globs of their ids. The nil set has all
// agents. It is safe for concurrent use.
type AgentSet struct {
	globs []pattern.Pattern
}

// NewAgentSet returns the set of the agents whose ids match one of the globs. Nil
// globs return the nil set, which has all agents; an empty list returns a set with
// none. A glob that does not compile matches nothing.
func NewAgentSet(globs []string) *AgentSet {
	if globs == nil {
		return nil
	}
	set := new(AgentSet)
	for _, source := range globs {
		if glob, err := pattern.Compile(source); err == nil {
			set.globs = append(set.globs, glob)
		}
	}
	return set
}

// Has reports whether the agent is in the set.
func (s *AgentSet) Has(agentID string) bool {
	return s == nil || slices.ContainsFunc(s.globs, func(glob pattern.Pattern) bool { return glob.Match(agentID) })
}

// sources returns the original globs.
func (s *AgentSet) sources() []string {
	list := make([]string, len(s.globs))
	for i, glob := range s.globs {
		list[i] = glob.String()
	}
	return list
}
