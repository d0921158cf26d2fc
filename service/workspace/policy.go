package workspace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/gitrepo"
)

// PolicyError means that this server may not prepare a workspace.
type PolicyError struct{ Problem string }

// Error says why.
func (e *PolicyError) Error() string { return e.Problem }

// errNoCheckouts means that no repository may be checked out.
var errNoCheckouts = &PolicyError{"this server prepares no workspaces: workspaces.git.allowed_repositories is empty"}

// Check reports whether a valid request is allowed. The error is a *PolicyError.
func (m *Manager) Check(r *Request) error {
	if !m.AcceptsCheckouts() {
		return errNoCheckouts
	}
	for i := range r.Checkouts {
		a := gitrepo.Parse(r.Checkouts[i].URL)
		switch {
		case !slices.Contains(m.settings.Protocols, a.Protocol):
			return &PolicyError{fmt.Sprintf("checkouts[%d].url: the protocol %s is not allowed: workspaces.git.protocols has %s", i, a.Protocol, strings.Join(m.settings.Protocols, ", "))}
		case !slices.ContainsFunc(m.allowed, func(p gitrepo.Pattern) bool { return p.Match(&a) }):
			return &PolicyError{fmt.Sprintf("checkouts[%d].url: the repository is not one of workspaces.git.allowed_repositories", i)}
		}
	}
	return nil
}
