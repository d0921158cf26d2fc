package main

import (
	"context"
	"fmt"

	"github.com/agentruntime/agentruntime/cli"
)

// listAgents implements the agents command: it lists the agents of a valid configuration.
func listAgents() cli.Command {
	return cli.Command{
		Name: "agents", Arguments: "FILE…", Summary: "List the agents of a configuration",
		Run: func(ctx context.Context, in *cli.Invocation) error {
			c, err := in.Load(ctx, in.Args...)
			if err != nil {
				return err
			}
			for _, id := range c.Revision.Set().AgentIDs() {
				if _, err := fmt.Fprintln(in.Out, id); err != nil {
					return err
				}
			}
			return nil
		},
	}
}
