// Command runtime validates, explains, compares, runs and serves configurations
// of the agent runtime.
package main

import "github.com/agentruntime/agentruntime/cli"

// release is the version of a released program; the build sets it.
var release = ""

func main() {
	cli.Main(cli.Settings{Components: components(), Version: release})
}
