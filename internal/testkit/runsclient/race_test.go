//go:build race

package runsclient_test

// buildFlags enable the race detector in the server if the tests use it.
var buildFlags = []string{"-race"}
