// Command acme is the runtime command with a team's components. It adds a provider, a tool kind, a
// plugin kind and a command to those shipped with the runtime. validate, explain, diff, schema and
// completion support them like built-in components.
package main

import (
	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/cli"
)

//docs:region main

func main() {
	cli.Main(cli.Settings{Components: components(), Version: "v0.1.0", Commands: []cli.Command{listAgents()}})
}

// components returns the runtime's components and the team's.
func components() app.Components {
	c := shipped.Components()
	c.Kinds.Providers = append(c.Kinds.Providers, cannedKind())
	c.Kinds.Tools = append(c.Kinds.Tools, ticketKind())
	c.Kinds.Plugins = append(c.Kinds.Plugins, officeHoursKind())
	return c
}

//docs:end
