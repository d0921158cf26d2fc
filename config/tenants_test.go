package config_test

import (
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/spec"
)

func TestTenantsAreThoseThatCredentialsAndSchedulesName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		file config.File
		want []string
	}{
		{"none", config.File{}, nil},
		{"default", config.File{Server: spec.Server{Keys: []spec.ServerKey{{ID: "a"}, {ID: "b"}}}}, []string{"default"}},
		{"all", config.File{
			Server: spec.Server{
				Keys:  []spec.ServerKey{{ID: "a", Tenant: "one"}, {ID: "b", Tenant: "two"}},
				OAuth: &spec.ServerOAuth{Clients: []spec.OAuthClient{{ID: "c", Tenant: "three"}, {ID: "d", Tenant: "one"}}},
				JWT:   &spec.ServerJWT{Tenant: "four"},
			},
			Schedules: []spec.Schedule{{Tenant: "five"}},
		}, []string{"five", "four", "one", "three", "two"}},
		{"a claim", config.File{Server: spec.Server{JWT: &spec.ServerJWT{TenantClaim: "org"}}}, nil},
	} {
		if got := tt.file.Tenants(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
