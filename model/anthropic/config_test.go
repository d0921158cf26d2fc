package anthropic

import (
	"testing"
)

// TestValidate checks settings that other vendors lack.
func TestValidate(t *testing.T) {
	for _, tt := range []struct {
		config     Config
		path, said string
	}{
		{Config{MaxOutputTokens: 1, Headers: map[string]string{"anthropic-beta": "a,b"}}, "", ""},
		{Config{BaseURL: "https://x/v1"}, "base_url", "/v1"},
		{Config{BaseURL: "https://x/v1/"}, "base_url", "/v1"},
		{Config{MaxOutputTokens: -1}, "max_output_tokens", "0 or more"},
	} {
		vendor.CheckConfig(t, &tt.config, tt.path, tt.said)
	}
}
