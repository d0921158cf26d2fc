package tools

import (
	"context"
	"fmt"

	"github.com/agentruntime/agentruntime/diag"
)

// Bundle is a configuration entry that provides many tools, such as those of a server. Agents get
// its members instead of the bundle, which is never described or called itself.
type Bundle interface {
	Tool
	// Members returns the current tools in a stable order, and diagnostics with paths below the
	// entry. It leaves out unusable tools. A member never changes: when the bundle's tools change,
	// Members returns new ones. It makes no requests and is safe for concurrent use.
	Members() ([]Member, diag.List)
	// Prefix is the prefix of the ids of members; empty if unknown. It identifies a reference to a
	// tool while there are no members.
	Prefix() string
}

// TenantBundle is a LiveBundle whose settings may refer to variables of tenants.
type TenantBundle interface {
	LiveBundle
	TenantReferrer
	// RefreshFor requests the tools like Refresh, with the variables of a tenant. A bundle that
	// refers to no variables does not need them.
	RefreshFor(ctx context.Context, tenant *TenantVariables) error
}

// Member is a tool of a bundle.
type Member struct {
	ID   string
	Tool Tool
}

// LiveBundle is a bundle whose tools are listed by an external party and may change.
type LiveBundle interface {
	Bundle
	// Known reports whether the tools are known from a current or earlier response.
	Known() bool
	// Refresh requests the tools, which Members then returns. An error changes nothing.
	Refresh(ctx context.Context) error
	// OnChange sets the function to call, on a goroutine of the bundle, when the tools have changed
	// other than by Refresh. Its context is canceled when the bundle is closed. A later function
	// replaces an earlier one.
	OnChange(changed func(ctx context.Context))
}

// ConnectedBundle is a bundle with connections to a server.
type ConnectedBundle interface {
	Bundle
	// Connections returns the state of the connections. It makes no requests.
	Connections() Connections
}

// Connections describes the connections of a bundle to its server.
type Connections struct {
	// Open counts the open connections. Failures counts the consecutive failures of the connection
	// that most calls share: failed attempts and connections lost early.
	Open, Failures int
	// Tools counts the known tools.
	Tools int
	// LoggedOut counts the tenants or subjects whose login is missing, has expired or lacks scopes,
	// as of its latest use.
	LoggedOut int
}

// String summarizes the connections in a few words.
func (c Connections) String() string {
	state := "not connected"
	switch {
	case c.Open > 0:
		state = fmt.Sprintf("%d open", c.Open)
	case c.Failures > 0:
		state = fmt.Sprintf("failing, %d times in a row", c.Failures)
	}
	text := fmt.Sprintf("%s; %d tools", state, c.Tools)
	if c.LoggedOut > 0 {
		text += fmt.Sprintf("; %d must log in", c.LoggedOut)
	}
	return text
}
