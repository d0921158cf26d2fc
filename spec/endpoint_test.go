package spec_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/spec"
)

func TestEndpointValidate(t *testing.T) {
	t.Parallel()
	const at = "invalid-endpoint base_url: "
	for url, want := range map[string]string{
		"https://x.example": "", "http://127.0.0.1:8080/a/b": "", "https://[::1]/": "", "HTTPS://x.example": "",
		"":                             at + "base_url is missing",
		"x.example":                    at + "base_url must start with http:// or https://",
		"ftp://x.example":              at + "base_url must start with http:// or https://",
		"file:///etc/passwd":           at + "base_url must start with http:// or https://",
		"https://":                     at + "base_url names no host",
		"https://:443/":                at + "base_url names no host",
		"https:///path":                at + "base_url names no host",
		"https://u:secret@x.example":   at + "base_url must not contain a user or password",
		"https://x.example?key=secret": at + "base_url must not have a query",
		"https://x.example?":           at + "base_url must not have a query",
		"https://x.example#secret":     at + "base_url must not have a fragment",
		"https://x.example:secret/":    at + "base_url does not parse as a URL",
		"https://secret.example/%zz":   at + "base_url does not parse as a URL",
		"https://x.example/\x00secret": at + "base_url does not parse as a URL",
		"://secret":                    at + "base_url does not parse as a URL",
	} {
		e := spec.Endpoint{BaseURL: url}
		got := strings.Join(faults(e.Validate()), "; ")
		if got != want {
			t.Errorf("%q: %q, want %q", url, got, want)
		}
		source := spec.RemoteSource{Name: "cloud", BaseURL: url}
		if got := strings.Join(faults(source.Validate()), "; "); got != want {
			t.Errorf("source at %q: %q, want %q", url, got, want)
		}
	}
}

func TestEndpointsHaveCredentialsAndLimits(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*spec.Endpoint)
		want   []string
	}{
		"a bearer token": {func(e *spec.Endpoint) { e.Auth = &spec.Auth{Type: "bearer", Token: "secret"} }, nil},
		"another scheme": {func(e *spec.Endpoint) { e.Auth = &spec.Auth{Type: "basic", Token: "secret"} }, []string{
			`invalid-endpoint auth.type: auth type "basic" is not supported; allowed is bearer`,
		}},
		"no token": {func(e *spec.Endpoint) { e.Auth = &spec.Auth{Type: "bearer"} }, []string{
			"invalid-endpoint auth.token: the token is empty",
		}},
		"a hidden token": {func(e *spec.Endpoint) { e.Auth = &spec.Auth{Type: "bearer", Token: "***"} }, []string{
			"invalid-endpoint auth.token: the token is the placeholder that stands for a hidden one",
		}},
		"no time": {func(e *spec.Endpoint) { e.Timeout = new(spec.Duration(0)) }, []string{
			"invalid-endpoint timeout: timeout is 0s; it must be more than 0",
		}},
	} {
		e := &spec.Endpoint{BaseURL: "https://x.example"}
		tt.change(e)
		list := e.Validate()
		expect(t, list, tt.want...)
		if strings.Contains(strings.Join(faults(list), " "), "secret") {
			t.Errorf("%s: a message shows a token", name)
		}
	}
	if e := (&spec.Endpoint{}); e.Kind() != "a2a" || e.Limit() != 300*time.Second {
		t.Errorf("kind %s, limit %s", e.Kind(), e.Limit())
	}
	if e := (&spec.Endpoint{Backend: "x", Timeout: new(spec.Duration(time.Minute))}); e.Kind() != "x" || e.Limit() != time.Minute {
		t.Errorf("kind %s, limit %s", e.Kind(), e.Limit())
	}
}

func TestRemoteSourceValidate(t *testing.T) {
	t.Parallel()
	good := spec.RemoteSource{Name: "cloud", BaseURL: "https://x.example", Auth: &spec.Auth{Type: "bearer", Token: "t"}}
	expect(t, good.Validate())
	if good.Kind() != "a2a" || (&spec.RemoteSource{Backend: "x"}).Kind() != "x" {
		t.Error("the kind of a source is wrong")
	}
	bad := spec.RemoteSource{Name: "local", Auth: &spec.Auth{}}
	expect(t, bad.Validate(),
		`invalid-id name: "local" is the name of the runtime's own agents`,
		"invalid-endpoint base_url: base_url is missing",
		`invalid-endpoint auth.type: auth type "" is not supported; allowed is bearer`,
		"invalid-endpoint auth.token: the token is empty")
	slash := spec.RemoteSource{Name: "a/b", BaseURL: "https://x.example"}
	expect(t, slash.Validate(), `invalid-id name: remote source id "a/b" is not allowed`)
}

// A token is never written, by value or behind a pointer, alone or inside.
func TestTokensAreNotWritten(t *testing.T) {
	t.Parallel()
	auth := spec.Auth{Type: "bearer", Token: "secret"}
	for _, v := range []any{auth, &auth, spec.Endpoint{Auth: &auth}, []spec.RemoteSource{{Auth: &auth}}, map[string]spec.Auth{"x": auth}} {
		data, err := json.Marshal(v)
		if err != nil || strings.Contains(string(data), "secret") || !strings.Contains(string(data), `"***"`) {
			t.Errorf("%T is written %s, %v", v, data, err)
		}
	}
}
