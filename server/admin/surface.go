// Package admin is the HTTP protocol for reading and changing the configuration of a running
// server: its parts, its revisions and its known problems. A credential must have the scope
// config:read or config:write.
package admin

import (
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/fleet"
)

// Prefix is the start of the protocol's paths.
const Prefix = "/runtime/v1"

// Surface is the protocol. It is safe for concurrent use.
type Surface struct {
	fleet *fleet.Fleet
	// service keeps the variables and logins of tenants.
	service *service.Service
	logins  *pendingLogins
}

var (
	_ server.Surface           = (*Surface)(nil)
	_ server.DeferredDescriber = (*Surface)(nil)
)
