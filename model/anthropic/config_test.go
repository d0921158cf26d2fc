package anthropic

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
)

func TestValidate(t *testing.T) {
	headers := func(name, value string) Config { return Config{Headers: map[string]string{name: value}} }
	for _, tt := range []struct {
		config Config
		path   string
		text   string
	}{
		{Config{}, "", ""},
		{Config{APIKey: "k", BaseURL: "http://[::1]:8080/claude", MaxOutputTokens: 1, Headers: map[string]string{"anthropic-beta": "a,b", "Authorization": "Bearer x"}}, "", ""},
		{headers("X-Api-Key", "k"), "", ""},
		{Config{BaseURL: "api.anthropic.com"}, "base_url", "http://"},
		{Config{BaseURL: "http://u:secret@x"}, "base_url", "user or password"},
		{Config{BaseURL: "https://x/v1"}, "base_url", "/v1"},
		{Config{BaseURL: "https://x/v1/"}, "base_url", "/v1"},
		{Config{APIKey: "secret\n"}, "api_key", "line break"},
		{Config{APIKey: "***"}, "api_key", "placeholder"},
		{Config{MaxOutputTokens: -1}, "max_output_tokens", "0 or more"},
		{headers("X-A", "secret\r\nX-B: c"), "headers.X-A", "line break"},
		{headers("content-type", "secret"), "headers.content-type", "runtime's"},
		{Config{APIKey: "k", Headers: map[string]string{"x-api-key": "secret"}}, "headers.x-api-key", "contradicts"},
	} {
		list := tt.config.Validate()
		switch {
		case tt.path == "" && len(list) == 0:
		case len(list) != 1 || list[0].Path != tt.path || !strings.Contains(list[0].Message, tt.text) || list[0].Severity != diag.Error:
			t.Errorf("%+v: the findings are %v, want one at %s that says %q", tt.config, list, tt.path, tt.text)
		case strings.Contains(list[0].Error(), "secret"):
			t.Errorf("the finding tells a secret: %v", list[0])
		}
		_, err := New(model.Settings{ID: "p"}, &tt.config)
		if (err != nil) != (tt.path != "") || len(diag.FromError(err)) != len(list) {
			t.Errorf("%+v: New returns %v", tt.config, err)
		}
	}
}

// TestConfigIsShownWithoutSecrets checks the JSON form, as it is logged.
func TestConfigIsShownWithoutSecrets(t *testing.T) {
	c := Config{APIKey: "topsecret", BaseURL: "http://x", Headers: map[string]string{"X-A": "topsecret"}}
	for _, v := range []any{c, &c, map[string]any{"p": c}} {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), "topsecret") || !strings.Contains(string(data), `"X-A":"***"`) {
			t.Errorf("the configuration is shown as %s", data)
		}
	}
	if c.Headers["X-A"] != "topsecret" {
		t.Error("showing the configuration changed it")
	}
	if data, err := json.Marshal(Config{}); err != nil || string(data) != "{}" {
		t.Errorf("the empty configuration is shown as %s, %v", data, err)
	}
}
