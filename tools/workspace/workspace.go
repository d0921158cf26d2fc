package workspace

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// workspace is an entry of a configuration: the tools that work in one root.
type workspace struct {
	id      string
	config  Config
	members []tools.Member
}

var _ tools.Bundle = (*workspace)(nil)

func (w *workspace) addMember(name string, tool tools.Tool) {
	w.members = append(w.members, tools.Member{ID: w.Prefix() + name, Tool: &member{tool, w}})
}

// member is a tool of the workspace, which receives the place of each call.
type member struct {
	tools.Tool
	workspace *workspace
}

// Check reports a misconfigured tool.
func (m *member) Check() error {
	if c, ok := m.Tool.(tools.Checker); ok {
		return c.Check()
	}
	return nil
}

// Call calls the tool in the root of the configuration, or in the workspace of the session.
func (m *member) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	at := place{m.workspace.config.Root, "."}
	if at.root == "" {
		if call.Workspace == nil {
			return tools.Result{}, errNoWorkspace
		}
		at = place{call.Workspace.Root, filepath.ToSlash(filepath.Clean(call.Workspace.Cwd))}
	}
	return m.Tool.Call(context.WithValue(ctx, placeKey{}, at), call)
}

// Descriptor returns an empty descriptor: agents get the members.
func (w *workspace) Descriptor() tools.Descriptor { return tools.Descriptor{} }

// Call fails: agents get the members.
func (w *workspace) Call(context.Context, *tools.Call) (tools.Result, error) {
	return tools.Result{}, fmt.Errorf("%s is a workspace, not a tool", w.id)
}

// Prefix returns the prefix of the tools' ids.
func (w *workspace) Prefix() string { return w.config.toolPrefix(w.id) }

// Members returns the tools. It reports an id that models do not accept.
func (w *workspace) Members() ([]tools.Member, diag.List) {
	var list diag.List
	for i := range w.members {
		list = append(list, spec.CheckToolID("", w.members[i].ID)...)
	}
	if list.HasErrors() {
		return nil, list
	}
	return w.members, nil
}
