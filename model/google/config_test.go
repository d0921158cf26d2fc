package google

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
)

// TestValidate checks what is found, where, and that no finding tells a secret.
func TestValidate(t *testing.T) {
	headers := func(name, value string) Config { return Config{Headers: map[string]string{name: value}} }
	for _, tt := range []struct {
		config     Config
		path, text string
	}{
		{Config{}, "", ""},
		{Config{APIKey: "secret", BaseURL: "https://x/y", APIVersion: "v1", Headers: map[string]string{"Authorization": "secret"}}, "", ""},
		{Config{APIVersion: "v1alpha2"}, "", ""},
		{headers("x-goog-api-key", "secret"), "", ""},
		{Config{BaseURL: "ftp://x"}, "base_url", "http"},
		{Config{BaseURL: "http://u:secret@x"}, "base_url", "user or password"},
		{Config{BaseURL: "http://x?key=secret"}, "base_url", "query"},
		{Config{BaseURL: "http://x/v1beta/"}, "base_url", "v1beta"},
		{Config{BaseURL: "http://x/v1"}, "", ""},
		{Config{APIVersion: "beta"}, "api_version", `"beta"`},
		{Config{APIVersion: "v1/../x"}, "api_version", "v1beta"},
		{Config{APIKey: "secret\n"}, "api_key", "line break"},
		{Config{APIKey: "***"}, "api_key", "placeholder"},
		{headers("X-A", "secret\r\nX-B: c"), "headers.X-A", "line break"},
		{headers("host", "secret"), "headers.host", "runtime's"},
		{Config{APIKey: "k", Headers: map[string]string{"X-GOOG-api-key": "secret"}}, "headers.X-GOOG-api-key", "contradicts"},
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
