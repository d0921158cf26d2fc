package spec

import (
	"maps"
	"reflect"
	"strings"
	"sync"

	"github.com/agentruntime/agentruntime/diag"
)

// Defaults are merged under every local agent: a field that the agent sets wins, and each key of
// sections is taken as a whole from whichever has it, the agent first. The two allow fields count
// as one: an agent that sets either does not inherit the other, so that a default never widens it.
// So do context_policy and the section compaction, which have the same fields.
type Defaults struct {
	Agent
}

// Origin is the set of parts of a merged agent that came from the defaults, as paths
// below the agent.
type Origin map[string]bool

// Path returns where a path below an agent was written: below the defaults if its part came from
// there, otherwise below the agent at base.
func (o Origin) Path(base, rel string) string {
	segments, ok := diag.ParsePath(rel)
	if ok && len(segments) > 0 {
		top := segments[0].Key
		if top == "sections" && len(segments) > 1 {
			top = diag.Key(top, segments[1].Key)
		}
		if o[top] {
			return diag.Join("defaults", rel)
		}
	}
	return diag.Join(base, rel)
}

// Apply returns the agent with the defaults merged under it, and the fields that come from them. It
// does not modify the agent. An endpoint-backed agent is returned unchanged, because its backend
// decides everything that defaults can set. An agent at a hosted provider inherits the fields that
// it uses.
func (d *Defaults) Apply(a *Agent) (*Agent, Origin) {
	if d == nil || !a.UsesTools() {
		return a, nil
	}
	if a.Hosted() {
		d = d.withoutModel()
	}
	_, compacts := a.Sections[CompactionSection]
	ownPolicy := compacts || a.ContextPolicy != nil
	ownCatalog := a.AllowedTools != nil || a.AllowedToolPatterns != nil
	merged, origin := a.Clone(), Origin{}
	own, defaults := reflect.ValueOf(merged).Elem(), reflect.ValueOf(&d.Agent).Elem()
	for name, index := range inheritedFields() {
		switch name {
		case "context_policy":
			if ownPolicy {
				continue
			}
		case "allowed_tools", "allowed_tool_patterns":
			if ownCatalog {
				continue
			}
		}
		field, value := own.FieldByIndex(index), defaults.FieldByIndex(index)
		if field.IsZero() && !value.IsZero() {
			field.Set(value)
			copyReferences(field) // each agent has its own
			origin[name] = true
		}
	}
	for key, section := range d.Sections {
		if _, own := a.Sections[key]; own || key == CompactionSection && ownPolicy {
			continue
		}
		if merged.Sections == nil {
			merged.Sections = make(Sections, len(d.Sections))
		}
		merged.Sections[key] = section
		origin[diag.Key("sections", key)] = true
	}
	return merged, origin
}

// inheritedFields returns the fields that agents inherit as a whole, by name.
var inheritedFields = sync.OnceValue(func() map[string][]int {
	fields := make(map[string][]int)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Agent]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.Anonymous && f.Tag.Get("key") == "" && name != "endpoint" && name != "sections" {
			fields[name] = f.Index
		}
	}
	return fields
})

// withoutModel returns the defaults without the fields that only agents with a model use.
func (d *Defaults) withoutModel() *Defaults {
	c := *d
	c.ModelID, c.ReasoningEffort, c.ContextPolicy, c.MaxContinuationRetries = "", nil, nil, nil
	c.ModelOptions = ModelOptions{}
	c.Handoffs, c.MaxHandoffs = nil, nil
	c.Sections = maps.Clone(d.Sections)
	delete(c.Sections, CompactionSection)
	return &c
}
