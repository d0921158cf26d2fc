package config

import (
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/internal/yamltree"
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
