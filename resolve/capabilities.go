package resolve

import (
	"cmp"

	"github.com/agentruntime/agentruntime/spec"
)

// capabilities are the known properties of an agent's model, or of all members of its pool
// combined.
type capabilities struct {
	// ContextWindow is how many tokens fit into one request, answer included;
	// of a pool the smallest. 0 when no model says.
	ContextWindow int
	// MaxOutput is how many tokens one answer may have; of a pool the fewest. 0
	// when no model says.
	MaxOutput int
	// DeclaredOutput is MaxOutput as far as the configuration declares it.
	DeclaredOutput int
	// KnowledgeCutoff is when the knowledge of the model ends; empty when it does
	// not say, or when the members of a pool do not all say the same.
	KnowledgeCutoff string
	// ListedCutoff is KnowledgeCutoff including the values from the catalog.
	ListedCutoff string
	// Pricing is what each model costs whose price is known, by its id.
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
