package settings_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/config/settings"
)

func TestMistakesInWhatCardsSayOfAServer(t *testing.T) {
	t.Parallel()
	const listen = "127.0.0.1:9000"
	for _, tt := range []struct {
		a2a  settings.ServerA2A
		want string // "code path", "" is valid
	}{
		{settings.ServerA2A{GRPCListen: listen, GRPCAddress: "agents.example.com:443", Organization: "ACME", OrganizationURL: "https://example.com"}, ""},
		{settings.ServerA2A{GRPCAddress: "agents.example.com:443"}, "invalid-value grpc_address"},
		{settings.ServerA2A{GRPCListen: listen, GRPCAddress: "agents.example.com"}, "invalid-value grpc_address"},
		{settings.ServerA2A{GRPCListen: listen, GRPCAddress: ":443"}, "invalid-value grpc_address"},
		{settings.ServerA2A{GRPCListen: listen, GRPCAddress: "a.example:0"}, "invalid-value grpc_address"},
		{settings.ServerA2A{GRPCListen: listen, GRPCAddress: "https://a.example:443"}, "invalid-value grpc_address"},
		{settings.ServerA2A{Organization: "ACME"}, "missing-field organization_url"},
		{settings.ServerA2A{OrganizationURL: "https://example.com"}, "missing-field organization"},
		{settings.ServerA2A{Organization: "ACME", OrganizationURL: "example.com"}, "invalid-value organization_url"},
	} {
		got := ""
		for _, d := range tt.a2a.Validate() {
			got += string(d.Code) + " " + d.Path
		}
		if got != tt.want {
			t.Errorf("%+v: diagnostics are %q, want %q", tt.a2a, got, tt.want)
		}
	}
}
