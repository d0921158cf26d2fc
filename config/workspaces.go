package config

import (
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
)

// workspaceUser is implemented by tool configurations whose only working directory may be the
// session's workspace.
type workspaceUser interface {
	// NeedsWorkspace reports whether the tool has no other directory.
	NeedsWorkspace() bool
}

// warnWorkspaceTools warns of tools whose calls always fail because no session has a workspace.
func (l *loader) warnWorkspaceTools() {
	if l.file.Workspaces.On() || l.file.Partial {
		return
	}
	_, tools := l.Tree.Root.FindField("tools")
	for i := range l.file.Tools {
		entry := &l.file.Tools[i]
		user, ok := entry.Config.(workspaceUser)
		if !ok || entry.Broken || !user.NeedsWorkspace() {
			continue
		}
		key, n := tools.FindField(entry.ID)
		if n == nil {
			continue
		}
		p := tree.TopField("tools", nil).Field(entry.ID, key)
		found := diag.New(diag.NoEffect, p.Path(), "tool %q has no root, and no session has a workspace: each call fails", clip.Text(entry.ID))
		l.AddFinding(found.WithHint("give it a root, or allow workspaces: workspaces.git.allowed_repositories"), n)
	}
}
