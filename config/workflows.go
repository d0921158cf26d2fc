package config

import (
	"github.com/agentruntime/agentruntime/config/internal/decode"
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/yamltree"
	"github.com/agentruntime/agentruntime/spec/workflow"
)

// decodeWorkflows decodes the workflows. Texts in them keep their ${{ … }}, which refer to values
// of a run.
func (l *loader) decodeWorkflows() {
	l.Expander.KeepsRefs = true
	defer func() { l.Expander.KeepsRefs = false }()
	l.eachEntry(keys.Workflows, func(id string, n *yamltree.Node, p *tree.Place, _ bool) {
		w, found, start := l.decodeWorkflow(id, n, p)
		l.AddValidationFindings(start, p, n, found)
		if w.Tenant == "" && w.Subject == "" && !l.file.options.Keyed && !l.file.Server.Authenticated() {
			w.Tenant, w.Subject = settings.LocalOwner, settings.LocalOwner // as all callers
		}
		l.file.Workflows = append(l.file.Workflows, &w)
	})
}

// ungroupWorkflows returns the workflows of a file, and the triggers and schedules of its groups
// as workflows.
func (l *loader) ungroupWorkflows(workflows *yamltree.Node) *yamltree.Node {
	grouped := false
	for key, value := range workflows.Pairs {
		delete(l.file.workflowGroups, key.Text) // of an earlier file
		grouped = grouped || keys.IsWorkflowGroup(key.Text, value)
	}
	if !grouped {
		return workflows
	}
	flat := *workflows
	flat.Children = nil
	known := map[string]*yamltree.Node{}
	add := func(key, value *yamltree.Node, group string) {
		if first := known[key.Text]; first != nil {
			found := diag.New(diag.DuplicateID, diag.Key(diag.Join(keys.Workflows, group), key.Text), "workflow %q is defined twice", clip.Text(key.Text))
			l.reportDuplicate(found, key, first, diag.Key(keys.Workflows, key.Text), "the first one is here")
			return
		}
		known[key.Text] = key
		flat.Children = append(flat.Children, key, value)
		if group != "" {
			l.file.setWorkflowGroup(key.Text, group)
		}
	}
	for key, value := range workflows.Pairs {
		if !keys.IsWorkflowGroup(key.Text, value) {
			add(key, value, "")
			continue
		}
		for id, entry := range value.Pairs {
			add(id, entry, key.Text)
		}
	}
	return &flat
}

// setWorkflowGroup records a workflow's group.
func (f *File) setWorkflowGroup(id, group string) {
	if f.workflowGroups == nil {
		f.workflowGroups = map[string]string{}
	}
	f.workflowGroups[id] = group
}

// decodeWorkflow decodes a workflow in either spelling. It returns the record's problems and the
// number of earlier diagnostics.
func (l *loader) decodeWorkflow(id string, n *yamltree.Node, p *tree.Place) (w workflow.Workflow, found diag.List, start int) {
	var translated *workflow.Workflow
	switch l.workflowSpelling(id, n) {
	case keys.EventTriggers:
		var t workflow.GestaltTrigger
		t, start = decode.DecodeRecord[workflow.GestaltTrigger](&l.Decoder, id, n, p)
		translated, found = t.Workflow(id)
	case keys.Schedules:
		var s workflow.GestaltSchedule
		s, start = decode.DecodeRecord[workflow.GestaltSchedule](&l.Decoder, id, n, p)
		translated, found = s.Workflow(id)
	default:
		w, start = decode.DecodeRecord[workflow.Workflow](&l.Decoder, id, n, p)
		return w, w.Validate(), start
	}
	return *translated, append(found, translated.Validate()...), start
}

// workflowSpelling returns the group whose spelling a workflow uses; empty for the runtime's own
// spelling.
func (l *loader) workflowSpelling(id string, n *yamltree.Node) string {
	if group := l.file.workflowGroups[id]; group != "" {
		return group
	}
	if _, match := n.FindField(keys.Match); match != nil {
		return keys.EventTriggers
	}
	if _, cron := n.FindField(keys.Cron); cron != nil {
		return keys.Schedules
	}
	return ""
}

// nameGroups adds the group of a workflow to the paths of diagnostics about it.
func (f *File) nameGroups(list diag.List) {
	for i := range list {
		segments, ok := diag.ParsePath(list[i].Path)
		if !ok || len(segments) < 2 || segments[0].Key != keys.Workflows || list[i].Code == diag.DuplicateID {
			continue // an id's second definition has no group, or its path names the group
		}
		if group := f.workflowGroups[segments[1].Key]; group != "" {
			list[i].Path = keys.Workflows + "." + group + list[i].Path[len(keys.Workflows):]
		}
	}
}
