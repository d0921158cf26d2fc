package mcp

import "runtime/debug"

// programVersion returns the version of the program, which servers are told.
func programVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
