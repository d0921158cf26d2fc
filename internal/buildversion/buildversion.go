// Package buildversion knows the version of the program.
package buildversion

import "runtime/debug"

// unknown is the version of a program that was not built from a release.
const unknown = "devel"

// Program returns the version of the program's main module, which the Go command records, or
// "devel".
func Program() string {
	if info, ok := debug.ReadBuildInfo(); ok {
		return name(info.Main.Version)
	}
	return unknown
}

// name returns a recorded version as the program shows it.
func name(recorded string) string {
	if recorded == "" || recorded == "(devel)" {
		return unknown
	}
	return recorded
}
