// Package buildversion provides the version of the program.
package buildversion

import "runtime/debug"

// unknown is the version of a program not built from a release.
const unknown = "devel"

// Program returns the version of the program's main module as recorded by the Go command, or
// "devel".
func Program() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return name(info.Main.Version)
	}
	return unknown
}

// name returns the display form of a recorded version.
func name(recorded string) string {
	if recorded == "" || recorded == "(devel)" {
		return unknown
	}
	return recorded
}
