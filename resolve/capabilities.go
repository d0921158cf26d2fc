package resolve

import (
	"cmp"

	"github.com/agentruntime/agentruntime/spec"
)

// capabilities are the known properties of an agent's model, or of all members of its pool
// combined.
type capabilities struct {
	// ContextWindow is the number of tokens in one request, including the answer; for a pool the
	// smallest. 0 if no model states it.
	ContextWindow int
	// MaxOutput is the maximum number of tokens in one answer; for a pool the smallest. 0 if no
	// model states it.
	MaxOutput int
	// DeclaredOutput is MaxOutput as declared in the configuration.
	DeclaredOutput int
	// KnowledgeCutoff is the model's knowledge cutoff; empty if unknown, or if the members of a
	// pool differ.
	KnowledgeCutoff string
	// ListedCutoff is KnowledgeCutoff including the values from the catalog.
	ListedCutoff string
	// Pricing holds the prices of the models whose price is known, by id.
	Pricing map[string]*spec.Pricing
}

func (x *index) capabilitiesOf(models ...*spec.Model) capabilities {
	var c capabilities
	for i, m := range models {
		c.DeclaredOutput = minLimit(c.DeclaredOutput, m.MaxOutputTokens)
		listed, found := m.KnowledgeCutoff, x.listedModel(m)
		if found != nil {
			listed = cmp.Or(listed, found.KnowledgeCutoff)
		}
		if i == 0 {
			c.KnowledgeCutoff, c.ListedCutoff = m.KnowledgeCutoff, listed
		}
		if m.KnowledgeCutoff != c.KnowledgeCutoff {
			c.KnowledgeCutoff = ""
		}
		if listed != c.ListedCutoff {
			c.ListedCutoff = ""
		}
		m = x.completeModel(m, found)
		c.ContextWindow = minLimit(c.ContextWindow, m.ContextWindow)
		c.MaxOutput = minLimit(c.MaxOutput, m.MaxOutputTokens)
		if m.Pricing != nil {
			if c.Pricing == nil {
				c.Pricing = make(map[string]*spec.Pricing)
			}
			c.Pricing[m.ID] = m.Pricing
		}
	}
	return c
}

// minLimit returns the smaller of two limits. A limit of 0 means none, and declared may be nil.
func minLimit(limit int, declared *int) int {
	if declared == nil || limit > 0 && limit <= *declared {
		return limit
	}
	return *declared
}
