package resolve

import (
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/registry"
)

// check collects the findings of a dry run.
type check struct {
	*index
	// changes are the differences to the base of a draft, and before are its agents. Without them,
	// everything is resolved.
	changes *changes
	before  *templates
	errs    []error
	rest    diag.List
}

// newCheck returns a check of a revision. It reuses data of the draft's base if a dry run found no
// errors in it.
func newCheck(rev *registry.Revision) *check {
	if base := rev.Base(); base != nil {
		if before := provenAgents(base); before != nil {
			if changed := compareSets(rev.Set(), base.Set()); changed != nil {
				x := rev.Derive(indexKey{}, func() any { return indexOf(base).nextIndex(rev, changed) })
				return &check{index: x.(*index), changes: changed, before: before} //nolint:forcetypeassert // as in indexOf
			}
		}
	}
	return &check{index: indexOf(rev), before: new(templates)}
}

func (c *check) addError(err error) { c.errs = append(c.errs, err) }

func (c *check) failAll(list diag.List) {
	for _, d := range list {
		c.addError(d)
	}
}

func (c *check) failBelow(path string, list diag.List) {
	for _, d := range list.Errors() {
		d.Path = diag.Join(path, d.Path)
		c.addError(d)
	}
}
