package hostlist_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/hostlist"
)

func TestIsLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "127.0.0.1": true, "127.9.9.9": true, "::1": true, "::ffff:127.0.0.1": true,
		"127.example.com": false, "localhost.example.com": false, "10.0.0.1": false, "::2": false, "": false,
	} {
		if got := hostlist.IsLoopback(host); got != want {
			t.Errorf("%q: %t", host, got)
		}
	}
}
