package resolve

import (
	"fmt"
	"maps"
	"math"
	"reflect"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
)

// fillPolicy merges the section into the agent's context policy. A field that both
// set to different values is an error. Without a threshold in either, conversations
// are summarized when a request has no more room.
func (r *resolver) fillPolicy(c compaction) {
	if c.policy == nil {
		return
	}
	own := *r.agent
	policy := &spec.ContextPolicy{}
	if declared := r.agent.ContextPolicy; declared != nil {
		*policy = *declared
	}
	m := policyMerge{template: r.template, section: c}
	m.mergeFields("", reflect.ValueOf(policy).Elem(), reflect.ValueOf(c.policy).Elem())
	r.policyFields = m.fields
	if !m.failed && own.ContextPolicy != nil && len(own.ContextPolicy.Validate()) == 0 {
		for _, d := range policy.Validate() {
			m.reportContradiction(d.Path, "max_context_tokens", d.Message)
		}
	}
	if policy.AutocompactThreshold == nil {
		policy.AutocompactThreshold = new(math.MaxInt) // the request's room is the limit
	}
	own.ContextPolicy, own.Sections = policy, maps.Clone(r.agent.Sections)
	delete(own.Sections, compactionKey)
	r.agent = &own
}

// policyMerge merges the section compaction into a context policy.
type policyMerge struct {
	template *template
	section  compaction
	// fields maps policy paths to the agent paths of the fields that the section set.
	fields map[string]string
	failed bool
}

// mergeFields sets the fields of to that from has, below a path of the policy.
func (m *policyMerge) mergeFields(below string, to, from reflect.Value) {
	for i := range from.NumField() {
		value, field := from.Field(i), to.Field(i)
		if value.IsZero() {
			continue
		}
		name, _, _ := strings.Cut(from.Type().Field(i).Tag.Get("json"), ",")
		path := diag.Join(below, name)
		if isRecord := value.Kind() == reflect.Pointer && value.Elem().Kind() == reflect.Struct; isRecord {
			merged := reflect.New(value.Type().Elem())
			if !field.IsZero() {
				merged.Elem().Set(field.Elem())
			}
			m.mergeFields(path, merged.Elem(), value.Elem())
			field.Set(merged)
			continue
		}
		switch {
		case field.IsZero():
			field.Set(value)
			if m.fields == nil {
				m.fields = make(map[string]string)
			}
			m.fields[path] = m.sectionPath(path)
		case !reflect.DeepEqual(field.Interface(), value.Interface()):
			m.reportContradiction(path, path, fmt.Sprintf("context_policy and sections.%s set %s to different values", compactionKey, path))
		}
	}
}

// sectionPath returns the path below the agent at which the section sets a field.
func (m *policyMerge) sectionPath(field string) string {
	if field == "summary_model_id" {
		field = m.section.summary
	}
	return diag.Join(diag.Key("sections", compactionKey), field)
}

// reportContradiction adds an error at a field of the section or, if the section does not
// set it, of the policy. The other place has the related field.
func (m *policyMerge) reportContradiction(field, related, text string) {
	m.failed = true
	t := m.template
	at, other := m.sectionPath(field), diag.Join("context_policy", related)
	if field != related && m.fields[field] == "" {
		at, other = diag.Join("context_policy", field), m.sectionPath(related)
	}
	d := diag.New(diag.InvalidValue, t.pathOf(at), "agent %q: %s", t.agent.ID, text).
		WithHint("set it in one of the two places")
	d.Related = []diag.Related{{Message: "the other place is here", Path: t.pathOf(other)}}
	t.addError(d.ForAgent(t.agent.ID))
}

// policyAt returns the agent path that sets a field of the context policy.
func (r *resolver) policyAt(field string) string {
	if path, ok := r.policyFields[field]; ok {
		return path
	}
	return diag.Join("context_policy", field)
}
