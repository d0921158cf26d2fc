package mcp

import (
	"errors"
	"net/http"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/tools"
)

// A server that a tenant brings is reached at public addresses alone, and so is the one
// that gives tokens for it.
func TestServersOfOutsidersAreGuarded(t *testing.T) {
	t.Parallel()
	tokens := func(url string) *serverAuth {
		return &serverAuth{Type: authClientCredentials, TokenURL: url, ClientID: "id", ClientSecret: "s"}
	}
	for _, tt := range []struct {
		name  string
		c     config
		allow []string
		path  string
	}{
		{"public", config{URL: "https://93.184.215.14/mcp"}, nil, ""},
		{"a name", config{URL: "https://mcp.example/mcp", Auth: tokens("https://login.example/")}, nil, ""},
		{"private", config{URL: "https://10.0.0.1/mcp"}, nil, "url"},
		{"this machine", config{URL: "http://localhost:80/mcp"}, nil, "url"},
		{"metadata by IPv6", config{URL: "http://[fd00:ec2::254]/"}, nil, "url"},
		{"an address in another form", config{URL: "http://[::ffff:127.0.0.1]/"}, nil, "url"},
		{"allowed", config{URL: "http://127.0.0.1:8080/mcp"}, []string{"127.0.0.1:8080"}, ""},
		{"allowed at another port", config{URL: "http://127.0.0.1/mcp"}, []string{"127.0.0.1:8080"}, "url"},
		{"tokens from inside", config{URL: "https://mcp.example/", Auth: tokens("http://169.254.169.254/")}, nil, "auth.token_url"},
	} {
		made, err := newTools(tools.Settings{ID: "x", Dir: t.TempDir(), PublicOnly: true, AllowPrivate: tt.allow}, &tt.c)
		if list := diag.FromError(err); tt.path == "" && err != nil || tt.path != "" && (len(list) != 1 || list[0].Path != tt.path) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if s, ok := made.(*server); ok {
			_ = s.Close()
		}
	}
	if _, err := newTools(tools.Settings{ID: "x", Dir: t.TempDir()}, &config{URL: "http://127.0.0.1/"}); err != nil {
		t.Errorf("a server of the configuration: %v", err)
	}
}

// What a name leads to is checked when a connection is made.
func TestAServerOfAnOutsiderIsGuardedWhenItIsReached(t *testing.T) {
	t.Parallel()
	made, err := newTools(tools.Settings{ID: "x", Dir: t.TempDir(), PublicOnly: true}, &config{URL: "http://mcp.example/"})
	if err != nil {
		t.Fatal(err)
	}
	s, ok := made.(*server)
	if !ok {
		t.Fatalf("made is %T", made)
	}
	defer func() { _ = s.Close() }()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:1/", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.transport().RoundTrip(req) //nolint:bodyclose // it has no body
	if _, blocked := errors.AsType[*netguard.BlockedError](err); !blocked {
		t.Errorf("the error is %v", err)
	}
}
