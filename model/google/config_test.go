package google

import (
	"testing"
)

// TestValidate checks settings that other vendors lack.
func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		config     Config
		path, said string
	}{
		{Config{APIVersion: "v1", APIKey: "secret"}, "", ""},
		{Config{APIVersion: "v1alpha2"}, "", ""},
		{Config{BaseURL: "http://x/v1beta/"}, "base_url", "v1beta"},
		{Config{BaseURL: "http://x/v1"}, "", ""},
		{Config{APIVersion: "beta"}, "api_version", `"beta"`},
		{Config{APIVersion: "v1/../x"}, "api_version", "v1beta"},
	} {
		vendor.CheckConfig(t, &tt.config, tt.path, tt.said)
	}
}
