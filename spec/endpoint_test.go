package spec_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

func TestEndpointValidate(t *testing.T) {
	t.Parallel()
	const at = "invalid-endpoint base_url: "
	for url, want := range map[string]string{
		"https://x.example": "", "http://127.0.0.1:8080/a/b": "", "https://[::1]/": "", "HTTPS://x.example": "",
		"":                             at + "base_url is required",
		"x.example":                    at + "base_url must start with http:// or https://",
		"ftp://x.example":              at + "base_url must start with http:// or https://",
		"file:///etc/passwd":           at + "base_url must start with http:// or https://",
		"127.0.0.1:18080/v1":           at + "base_url must start with http:// or https://",
		"https://":                     at + "base_url names no host",
		"https://:443/":                at + "base_url names no host",
		"https:///path":                at + "base_url names no host",
		"https://x.example:65535":      "",
		"https://x.example:65536":      at + "the port of base_url is not from 1 to 65535",
		"https://x.example:0":          at + "the port of base_url is not from 1 to 65535",
		"https://u:secret@x.example":   at + "base_url must not contain a user or password",
		"https://x.example?key=secret": at + "base_url must not have a query",
		"https://x.example?":           at + "base_url must not have a query",
		"https://x.example#secret":     at + "base_url must not have a fragment",
		"https://x.example:secret/":    at + "base_url does not parse as a URL",
		"https://secret.example/%zz":   at + "base_url does not parse as a URL",
		"https://x.example/\x00secret": at + "base_url does not parse as a URL",
		"x.example/%zz":                at + "base_url must start with http:// or https://",
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
	e := &spec.Endpoint{BaseURL: "https://x.example", Auth: &spec.Auth{Type: "bearer"}, Timeout: new(spec.Duration(0))}
	expect(t, e.Validate(), "invalid-endpoint auth.token: token is empty", "invalid-endpoint timeout: timeout is 0s; it must be more than 0")
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
	bad := spec.RemoteSource{Name: "local", Auth: &spec.Auth{Type: "bearer"}, Timeout: new(spec.Duration(-1))}
	expect(t, bad.Validate(),
		`invalid-id name: "local" is the name of the runtime's own agents`,
		"invalid-endpoint base_url: base_url is required",
		"invalid-endpoint auth.token: token is empty",
		"invalid-endpoint timeout: timeout is -1ns; it must be more than 0")
	slash := spec.RemoteSource{Name: "a/b", BaseURL: "https://x.example"}
	expect(t, slash.Validate(), `invalid-id name: remote source id "a/b" is not allowed`)
}

// The endpoint of a source is how the peer itself is reached, and shares nothing
// that anybody would write to.
func TestASourceHasTheEndpointOfItsPeer(t *testing.T) {
	t.Parallel()
	source := spec.RemoteSource{
		Name: "cloud", BaseURL: "https://x.example", Backend: "b", Timeout: new(spec.Duration(time.Minute)),
		Auth:    &spec.Auth{Type: "oauth_client_credentials", Scopes: []string{"a"}},
		Options: map[string]json.RawMessage{"stream": []byte(`false`)},
	}
	e := source.Endpoint()
	want := &spec.Endpoint{BaseURL: source.BaseURL, Backend: "b", Timeout: source.Timeout, Auth: source.Auth, Options: source.Options}
	if diff := cmp.Diff(want, e); diff != "" {
		t.Errorf("the endpoint (-want +got):\n%s", diff)
	}
	e.Auth.Scopes[0], *e.Timeout = "changed", 1
	e.Options["stream"] = []byte(`true`)
	if source.Auth.Scopes[0] != "a" || source.Timeout.Std() != time.Minute || string(source.Options["stream"]) != "false" {
		t.Error("a change of the endpoint changes the source")
	}
}
