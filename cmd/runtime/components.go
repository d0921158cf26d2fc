package main

import (
	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/app/shipped"
)

// components returns this command's components: all that ship.
func components() app.Components { return shipped.Components() }
