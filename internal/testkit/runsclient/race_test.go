//go:build race

package runsclient_test

// buildFlags make the server look for races when the tests do. They are those of
// "make race", so that its packages are not compiled once more.
var buildFlags = []string{"-race", "-gcflags=all=-dwarf=false", "-gcflags=modernc.org/sqlite/lib=-dwarf=false -race=false"}
