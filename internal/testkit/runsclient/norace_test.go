//go:build !race

package runsclient_test

var buildFlags []string
