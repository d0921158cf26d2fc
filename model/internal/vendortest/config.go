package vendortest

import (
	"cmp"
	"encoding/json"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/model"
)

// testKind creates an executor as the runtime does: with an empty configuration, without one, and
// with an invalid one.
func (v *Vendor) testKind(t *testing.T) {
	if v.Kind.Type != v.Type || v.Kind.Summary == "" {
		t.Errorf("the kind is %q: %q", v.Kind.Type, v.Kind.Summary)
	}
	configs := []any{v.makeConfig(t, Access{})}
	if v.Settings == nil {
		configs = append(configs, reflect.Zero(reflect.TypeOf(configs[0])).Interface())
	}
	for _, c := range configs {
		e, err := v.Kind.Create(model.Settings{ID: Provider}, c)
		if err != nil || e == nil {
			t.Fatalf("create of %#v: %v", c, err)
		}
		if named, ok := e.(model.Vendor); !ok || named.Vendor() != cmp.Or(v.Name, v.Type) {
			t.Errorf("the executor is not one of %s", v.Type)
		}
	}
	if e, err := v.Kind.Create(model.Settings{ID: Provider}, v.makeConfig(t, Access{BaseURL: "ftp://x"})); err == nil || e != nil {
		t.Errorf("create with a bad base_url returns %v, %v", e, err)
	}
}

// makeConfig returns a configuration for the vendor.
func (v *Vendor) makeConfig(t *testing.T, access Access) any {
	t.Helper()
	c := v.Kind.NewConfig()
	for _, part := range []any{v.Settings, access} {
		if err := json.Unmarshal([]byte(JSON(t, part)), c); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// testConfig checks the diagnostics of settings that all vendors share.
func (v *Vendor) testConfig(t *testing.T) {
	header := func(name, value string) Access { return Access{Headers: map[string]string{name: value}} }
	for _, tt := range []struct {
		access     Access
		path, said string
	}{
		{Access{}, "", ""},
		{Access{APIKey: "secret", BaseURL: "http://[::1]:8080/gateway", Headers: map[string]string{"X-A": "b c\td"}}, "", ""},
		{Access{APIKey: "secret", BaseURL: "https://x/y"}, "", ""},
		{header("Authorization", "Bearer secret"), "", ""},
		{header(v.KeyHeader, "secret"), "", ""},
		{Access{BaseURL: "api.example.com/v1"}, "base_url", "http://"},
		{Access{BaseURL: "ftp://x"}, "base_url", "http://"},
		{Access{BaseURL: "http://"}, "base_url", "names no host"},
		{Access{BaseURL: "http://:80"}, "base_url", "names no host"},
		{Access{BaseURL: "http://u:secret@x"}, "base_url", "user or password"},
		{Access{BaseURL: "http://x?key=secret"}, "base_url", "query"},
		{Access{BaseURL: "http://x?"}, "base_url", "query"},
		{Access{BaseURL: "http://x#secret"}, "base_url", "fragment"},
		{Access{BaseURL: "http://x/%zzsecret"}, "base_url", "does not parse"},
		{Access{APIKey: "secret\n"}, "api_key", "line break"},
		{Access{APIKey: "***"}, "api_key", "placeholder"},
		{header("X-A", "secret\r\nX-B: c"), "headers.X-A", "line break"},
		{header("X-A", "***"), "headers.X-A", "placeholder"},
		{header("", "secret"), `headers[""]`, "invalid header name"},
		{header("X A", "secret"), `headers["X A"]`, "invalid header name"},
		{header("host", "secret"), "headers.host", "set by the runtime"},
		{header("content-type", "secret"), "headers.content-type", "set by the runtime"},
		{Access{APIKey: "k", Headers: map[string]string{strings.ToLower(v.KeyHeader): "secret"}}, "headers." + strings.ToLower(v.KeyHeader), "contradicts"},
		{Access{APIKey: "k", Headers: map[string]string{strings.ToUpper(v.KeyHeader): "secret"}}, "headers." + strings.ToUpper(v.KeyHeader), "contradicts"},
	} {
		v.CheckConfig(t, v.makeConfig(t, tt.access), tt.path, tt.said)
	}
}

// settingNames matches the names of settings that contain the same word as the values.
var settingNames = regexp.MustCompile(`\bsecret_\w+|\w+_secret\b`)

// CheckConfig checks that a configuration has one finding, at path, that contains said, or none if
// path is empty. No finding may reveal a value that contains "secret", and no executor may be
// created despite one.
func (v *Vendor) CheckConfig(t *testing.T, config any, path, said string) {
	t.Helper()
	list := config.(interface{ Validate() diag.List }).Validate().Errors()
	switch {
	case path == "" && len(list) == 0:
	case len(list) != 1 || list[0].Path != path || !strings.Contains(list[0].Message, said) || list[0].Severity != diag.Error:
		t.Errorf("%+v: the findings are %v, want one at %s that says %q", config, list, path, said)
	case strings.Contains(settingNames.ReplaceAllString(list[0].Error(), ""), "secret"):
		t.Errorf("the finding tells a secret: %v", list[0])
	}
	_, err := v.Kind.Create(model.Settings{ID: Provider}, config)
	if (err != nil) != (path != "") || len(diag.FromError(err)) != len(list) {
		t.Errorf("%+v: Create returns %v", config, err)
	}
}

// CheckCredentials checks that validation warns about a configuration without a credential,
// naming the settings that give one, and about none of those in with.
func CheckCredentials(t *testing.T, without interface{ Validate() diag.List }, settings []string, with ...interface{ Validate() diag.List }) {
	t.Helper()
	list := without.Validate()
	if len(list) != 1 || list[0].Severity != diag.Warning || list[0].Path != "" || list[0].Code != diag.MissingField {
		t.Fatalf("the findings are %v, want one warning", list)
	}
	for _, name := range settings {
		if !strings.Contains(list[0].Hint, name) {
			t.Errorf("the hint %q does not name %s", list[0].Hint, name)
		}
	}
	for _, c := range with {
		if list := c.Validate(); len(list) > 0 {
			t.Errorf("%+v: the findings are %v", c, list)
		}
	}
}

// testConfigIsShown checks the JSON form, as it is logged, of a record and of a
// pointer to one.
func (v *Vendor) testConfigIsShown(t *testing.T) {
	c := v.makeConfig(t, Access{APIKey: "topsecret", BaseURL: "http://x", Headers: map[string]string{"X-A": "topsecret"}})
	for _, shown := range []any{c, reflect.ValueOf(c).Elem().Interface(), map[string]any{"p": c}} {
		said := JSON(t, shown)
		for _, want := range []string{`"api_key":"***"`, `"base_url":"http://x"`, `"X-A":"***"`} {
			if !strings.Contains(said, want) || strings.Contains(said, "topsecret") {
				t.Errorf("the configuration is shown as %s", said)
			}
		}
	}
	if _, err := v.Kind.Create(model.Settings{ID: Provider}, c); err != nil {
		t.Errorf("showing the configuration changed it: %v", err)
	}
	if said := JSON(t, v.Kind.NewConfig()); said != "{}" {
		t.Errorf("the empty configuration is shown as %s", said)
	}
}
