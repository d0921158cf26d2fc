package main

import (
	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/app/shipped"
)

// components returns the list of components that this command is built with:
// all that ship.
func components() app.Components { return shipped.Components() }
