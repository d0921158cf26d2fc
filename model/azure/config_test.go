package azure

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model/internal/vendortest"
)

func TestValidate(t *testing.T) {
	app := func(change func(*EntraID)) Config {
		e := &EntraID{TenantID: "t", ClientID: "c", ClientSecret: "a-secret"}
		change(e)
		return Config{BaseURL: testURL, EntraID: e}
	}
	for _, tt := range []struct {
		config     Config
		path, said string
	}{
		{Config{}, "base_url", "required"},
		{Config{BaseURL: testURL + "/openai/v1/"}, "base_url", "/openai"},
		{Config{BaseURL: testURL + "/openai/deployments/x"}, "base_url", "/openai"},
		{Config{BaseURL: testURL, API: "assistants"}, "api", `"assistants"`},
		{Config{BaseURL: testURL, APIVersion: "2024"}, "api_version", `"2024"`},
		{Config{BaseURL: testURL, ReasoningSummary: "long"}, "reasoning_summary", `"long"`},
		{Config{BaseURL: testURL, EntraID: &EntraID{}}, "entra_id", "exactly one"},
		{app(func(*EntraID) {}), "", ""},
		{app(func(e *EntraID) { e.ManagedIdentity = true }), "entra_id", "exactly one"},
		{app(func(e *EntraID) { e.TenantID = "" }), "entra_id.tenant_id", "required"},
		{app(func(e *EntraID) { e.ClientID = "" }), "entra_id.client_id", "required"},
		{app(func(e *EntraID) { e.ClientSecret = "***" }), "entra_id.client_secret", "placeholder"},
		{app(func(e *EntraID) { e.Authority = "login.example" }), "entra_id.authority", "authority must start with"},
		{app(func(e *EntraID) { e.IdentityHeader = "a-secret" }), "entra_id.identity_endpoint", "need managed_identity"},
		{app(func(e *EntraID) { *e = EntraID{ManagedIdentity: true, IdentityEndpoint: "http://x"} }), "entra_id.identity_endpoint", "together"},
		{app(func(e *EntraID) { *e = EntraID{ManagedIdentity: true, TenantID: "t"} }), "entra_id.tenant_id", "no effect"},
		{Config{BaseURL: testURL, APIKey: "k-secret", EntraID: &EntraID{ManagedIdentity: true}}, "entra_id", "contradicts"},
		{Config{BaseURL: testURL, EntraID: &EntraID{ManagedIdentity: true}, Headers: map[string]string{"authorization": "Bearer secret"}}, "headers.authorization", "contradicts"},
	} {
		vendors["deployment"].CheckConfig(t, &tt.config, tt.path, tt.said)
	}
	shown := vendortest.JSON(t, Config{BaseURL: testURL, EntraID: &EntraID{ClientSecret: "topsecret", IdentityHeader: "topsecret"}})
	if strings.Contains(shown, "topsecret") || strings.Count(shown, `"***"`) != 2 {
		t.Errorf("the configuration is shown as %s", shown)
	}
}

func TestProvidersWithoutCredentialAreWarnedAbout(t *testing.T) {
	vendortest.CheckCredentials(t, &Config{BaseURL: testURL}, []string{"api_key", "entra_id"},
		&Config{BaseURL: testURL, APIKey: "k"},
		&Config{BaseURL: testURL, EntraID: &EntraID{ManagedIdentity: true}},
		&Config{BaseURL: testURL, Headers: map[string]string{"X-Gateway-Key": "k"}})
}
