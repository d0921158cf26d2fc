//go:build race

package runsclient_test

// buildFlags make the server look for races when the tests do.
var buildFlags = []string{"-race"}
