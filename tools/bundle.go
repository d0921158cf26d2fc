package tools

import (
	"context"

	"github.com/agentruntime/agentruntime/diag"
)

// Bundle is an entry of a configuration that stands for many tools, such as
// those of a server. Where a bundle is registered, agents get its members and
// not the bundle: as a tool by itself it is neither described nor called.
type Bundle interface {
	Tool
	// Members returns the tools that there are now, in a stable order, and what
	// is to be said of them, with paths below the entry. A tool that cannot be
	// used is left out. A member never changes: when the tools of the bundle
	// do, Members returns others. It does not reach out, and may be called from
	// many goroutines at once.
	Members() ([]Member, diag.List)
	// Prefix is how the ids of members begin, empty if unknown. It identifies a
	// reference to a tool while there are no members.
	Prefix() string
}

// TenantBundle is a LiveBundle whose settings may refer to variables of tenants.
type TenantBundle interface {
	LiveBundle
	TenantReferrer
	// RefreshFor asks for the tools as Refresh does, with the variables of a tenant. A bundle
	// that refers to none does not need them.
	RefreshFor(ctx context.Context, tenant *TenantVariables) error
}

// Member is a tool of a bundle.
type Member struct {
	ID   string
	Tool Tool
}

// LiveBundle is a bundle whose tools belong to somebody else, who must be
// asked for them and may change them.
type LiveBundle interface {
	Bundle
	// Known reports whether the tools are known, from an answer of now or of
	// earlier.
	Known() bool
	// Refresh asks for the tools. Members returns them from then on. An error
	// changes nothing.
	Refresh(ctx context.Context) error
	// OnChange sets what is called, from a goroutine of the bundle, when the
	// tools have changed other than by Refresh. Its context ends when the
	// bundle is closed. A later function takes the place of an earlier one.
	OnChange(changed func(ctx context.Context))
}
