package spec_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/spec"
)

func TestAuthValidate(t *testing.T) {
	t.Parallel()
	client := spec.Auth{Type: spec.AuthClientCredentials, TokenURL: "https://id.example/token", ClientID: "runtime", ClientSecret: "hush", Scopes: []string{"agents"}}
	for name, tt := range map[string]struct {
		auth spec.Auth
		want []string
	}{
		"a bearer token":                {spec.Auth{Type: spec.AuthBearer, Token: "hush"}, nil},
		"a key":                         {spec.Auth{Type: spec.AuthAPIKey, Key: "hush"}, nil},
		"a key in a header of its own":  {spec.Auth{Type: spec.AuthAPIKey, Key: "hush", In: spec.InHeader, Name: "X-Secret-Of-Peer"}, nil},
		"a key in the query":            {spec.Auth{Type: spec.AuthAPIKey, Key: "hush", In: spec.InQuery, Name: "key"}, nil},
		"a key in a cookie":             {spec.Auth{Type: spec.AuthAPIKey, Key: "hush", In: spec.InCookie, Name: "key"}, nil},
		"a client and its secret":       {client, nil},
		"no type":                       {spec.Auth{}, []string{`type: auth type "" is not supported; allowed are bearer, api_key, oauth_client_credentials`}},
		"another type":                  {spec.Auth{Type: "basic", Token: "hush"}, []string{`type: auth type "basic" is not supported; allowed are bearer, api_key, oauth_client_credentials`}},
		"no token":                      {spec.Auth{Type: spec.AuthBearer}, []string{"token: token is empty"}},
		"a hidden token":                {spec.Auth{Type: spec.AuthBearer, Token: "***"}, []string{"token: token is the placeholder for a hidden value"}},
		"a token with a line break":     {spec.Auth{Type: spec.AuthBearer, Token: "hush\n"}, []string{"token: token has a space or another character that a request cannot carry"}},
		"a token and a key":             {spec.Auth{Type: spec.AuthBearer, Token: "hush", Key: "hush", Name: "X"}, []string{"key: key does not belong to auth type bearer", "name: name does not belong to auth type bearer"}},
		"no key":                        {spec.Auth{Type: spec.AuthAPIKey}, []string{"key: key is empty"}},
		"a key elsewhere":               {spec.Auth{Type: spec.AuthAPIKey, Key: "hush", In: "body"}, []string{`in: in is "body"; allowed are header, query, cookie`}},
		"a key under a name with a dot": {spec.Auth{Type: spec.AuthAPIKey, Key: "hush", Name: "x.key"}, nil},
		"a key under no name":           {spec.Auth{Type: spec.AuthAPIKey, Key: "hush", Name: "X Key:"}, []string{`name: "X Key:" is not a valid name for a header, parameter or cookie`}},
		"a client without anything": {spec.Auth{Type: spec.AuthClientCredentials}, []string{
			"token_url: token_url is required", "client_id: client_id is empty", "client_secret: client_secret is empty",
		}},
		"a client with a token": {spec.Auth{
			Type: spec.AuthClientCredentials, Token: "hush", TokenURL: "ftp://id.example", ClientID: "runtime", ClientSecret: "***",
		}, []string{
			"token_url: token_url must start with http:// or https://",
			"client_secret: client_secret is the placeholder for a hidden value",
			"token: token does not belong to auth type oauth_client_credentials",
		}},
	} {
		list := tt.auth.Validate()
		for i := range tt.want {
			tt.want[i] = "invalid-endpoint " + tt.want[i]
		}
		if got := faults(list); !slices.Equal(got, tt.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, tt.want)
		}
		if strings.Contains(strings.Join(faults(list), " "), "hush") {
			t.Errorf("%s: a message shows a secret", name)
		}
	}
}

// A secret is never written, by value or through a pointer, alone or inside.
func TestSecretsAreNotWritten(t *testing.T) {
	t.Parallel()
	auth := spec.Auth{Type: spec.AuthBearer, Token: "hidden-1", Key: "hidden-2", ClientSecret: "hidden-3"}
	for _, v := range []any{auth, &auth, spec.Endpoint{Auth: &auth}, []spec.RemoteSource{{Auth: &auth}}, map[string]spec.Auth{"x": auth}} {
		data, err := json.Marshal(v)
		if err != nil || strings.Contains(string(data), "hidden") || strings.Count(string(data), `"***"`) != 3 {
			t.Errorf("%T is written %s, %v", v, data, err)
		}
	}
	if auth.Token != "hidden-1" {
		t.Error("writing a credential changed it")
	}
}

// Every field that is marked as a secret is one of Secrets.
func TestSecretsAreAllThatAreMarked(t *testing.T) {
	t.Parallel()
	var auth spec.Auth
	var want []string
	v := reflect.ValueOf(&auth).Elem()
	for i := range v.NumField() {
		if field := v.Type().Field(i); field.Tag.Get("secret") == "true" {
			v.Field(i).SetString(field.Name)
			want = append(want, field.Name)
		}
	}
	if got := auth.Secrets(); !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("the secrets are %q, want %q", got, want)
	}
	if got := (&spec.Auth{}).Secrets(); len(got) != 0 {
		t.Errorf("an empty credential has secrets %q", got)
	}
}
