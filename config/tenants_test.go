package config_test

import (
	"slices"
	"testing"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/config/settings"
)

func TestTenantsAreThoseThatCredentialsAndSchedulesName(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		file config.File
		want []string
	}{
		{"none", config.File{}, nil},
		{"default", config.File{Server: settings.Server{Keys: []settings.ServerKey{{ID: "a"}, {ID: "b"}}}}, []string{"default"}},
		{"all", config.File{
			Server: settings.Server{
				Keys:  []settings.ServerKey{{ID: "a", Tenant: "one"}, {ID: "b", Tenant: "two"}},
				OAuth: &settings.ServerOAuth{Clients: []settings.OAuthClient{{ID: "c", Tenant: "three"}, {ID: "d", Tenant: "one"}}},
				JWT:   &settings.ServerJWT{Tenant: "four"},
			},
			Schedules: []settings.Schedule{{Tenant: "five"}},
		}, []string{"five", "four", "one", "three", "two"}},
		{"a claim", config.File{Server: settings.Server{JWT: &settings.ServerJWT{TenantClaim: "org"}}}, nil},
	} {
		if got := tt.file.Tenants(); !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
