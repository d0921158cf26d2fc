package server_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/server"
)

func TestWithoutKeysTheCallerIsLocal(t *testing.T) {
	t.Parallel()
	s := start(t, server.Settings{}, exposed...)
	if got := s.ask(t, "POST /private", ""); got.body != "local/local" {
		t.Error(got)
	}
	if got := s.ask(t, "GET /scoped", "", "Authorization", "Bearer whatever"); got.body != "local/local" {
		t.Error(got)
	}
}

func TestThePagesOfOtherSitesCannotUseAServerWithoutKeys(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		settings server.Settings
		headers  []string
		want     int
	}{
		"a program":                      {server.Settings{}, nil, http.StatusOK},
		"another name of the machine":    {server.Settings{}, []string{"Host", "[::1]:8080"}, http.StatusOK},
		"a name below":                   {server.Settings{}, []string{"Host", "agents.localhost:8080"}, http.StatusOK},
		"a page of its own":              {server.Settings{}, []string{"Origin", "http://localhost"}, http.StatusOK},
		"the name that clients use":      {server.Settings{PublicURL: "https://Agents.example.com"}, []string{"Host", "agents.example.com"}, http.StatusOK},
		"a site that is allowed":         {server.Settings{CORSOrigins: []string{"https://console.example.com"}}, []string{"Origin", "https://console.example.com"}, http.StatusOK},
		"a name that was rebound":        {server.Settings{}, []string{"Host", "evil.example.com", "Origin", "http://evil.example.com"}, http.StatusForbidden},
		"the page of another site":       {server.Settings{}, []string{"Origin", "https://evil.example.com"}, http.StatusForbidden},
		"a browser that says it":         {server.Settings{}, []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		"a site, where all may come":     {server.Settings{AllowUnauthenticated: true}, []string{"Origin", "https://evil.example.com"}, http.StatusForbidden},
		"any name, where all may come":   {server.Settings{AllowUnauthenticated: true}, []string{"Host", "agents.internal"}, http.StatusOK},
		"a site that needs a key anyway": {server.Settings{Authenticator: keys()}, []string{"Origin", "https://evil.example.com", "X-API-Key", goodKey}, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, tt.settings, exposed...)
			if got := s.ask(t, "POST /private", "", tt.headers...); got.status != tt.want {
				t.Errorf("status %d, want %d: %s", got.status, tt.want, got.body)
			}
		})
	}
}

// A page whose name was rebound to this machine reads nothing, public or not.
func TestPublicRoutesCheckTheHostToo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		settings server.Settings
		host     string
		want     int
	}{
		"a name that was rebound":      {server.Settings{}, "evil.example.com", http.StatusForbidden},
		"a name of the machine":        {server.Settings{}, "localhost:8080", http.StatusOK},
		"the name that clients use":    {server.Settings{PublicURL: "https://agents.example.com"}, "agents.example.com", http.StatusOK},
		"any name, where all may come": {server.Settings{AllowUnauthenticated: true}, "agents.internal", http.StatusOK},
		"any name, where keys decide":  {server.Settings{Authenticator: keys()}, "agents.internal", http.StatusOK},
	} {
		s := start(t, tt.settings, exposed...)
		for _, path := range []string{"/public", "/openapi.json", "/healthz"} {
			if got := s.ask(t, "GET "+path, "", "Host", tt.host); got.status != tt.want {
				t.Errorf("%s: GET %s returns %d, want %d: %s", name, path, got.status, tt.want, got.body)
			}
		}
	}
}

func TestWithoutKeysTheServerListensOnLoopbackOnly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		settings server.Settings
		refused  bool
	}{
		{server.Settings{Address: "127.0.0.1:0"}, false},
		{server.Settings{Address: "localhost:0"}, false},
		{server.Settings{Address: ":0"}, true},
		{server.Settings{Address: "0.0.0.0:0"}, true},
		{server.Settings{Address: ":0", AllowUnauthenticated: true}, false},
		{server.Settings{Address: ":0", Authenticator: keys()}, false},
	} {
		s, err := server.New(tt.settings)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Listen(t.Context()); errors.Is(err, server.ErrUnauthenticated) != tt.refused || err != nil != tt.refused {
			t.Errorf("%+v: %v", tt.settings, err)
		}
		if (s.URL() == "") != tt.refused || !tt.refused && !strings.HasPrefix(s.URL(), "http://") {
			t.Errorf("%+v is at %q", tt.settings, s.URL())
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestAnAddressThatIsTakenIsAnError(t *testing.T) {
	t.Parallel()
	one, err := server.New(server.Settings{Address: "127.0.0.1:0", PublicURL: "https://agents.example.com"})
	if err != nil {
		t.Fatal(err)
	}
	if err := one.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	if one.URL() != "https://agents.example.com" {
		t.Error(one.URL())
	}
	two, err := server.New(server.Settings{Address: strings.TrimPrefix(one.LocalURL(), "http://")})
	if err != nil {
		t.Fatal(err)
	}
	if err := two.Listen(t.Context()); err == nil || !strings.Contains(err.Error(), "address already in use") {
		t.Error(err)
	}
	if err := one.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestOriginsThatAreNoneAreRefused(t *testing.T) {
	t.Parallel()
	for _, origin := range []string{"*", "example.com", "https://example.com/path"} {
		if _, err := server.New(server.Settings{CORSOrigins: []string{origin}}); err == nil {
			t.Errorf("%s is allowed where nobody needs a key", origin)
		}
	}
}

func TestSitesAreAllowedByName(t *testing.T) {
	t.Parallel()
	const site = "https://console.example.com"
	preflight := []string{"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization, content-type"}
	for name, tt := range map[string]struct {
		origins []string
		origin  string
		allowed string
	}{
		"none":        {nil, site, ""},
		"this":        {[]string{site}, site, site},
		"another":     {[]string{site}, "https://evil.example.com", ""},
		"all":         {[]string{"*"}, site, site},
		"no browser":  {[]string{site}, "", ""},
		"beginnings":  {[]string{site}, site + ".evil.com", ""},
		"a null site": {[]string{site}, "null", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, server.Settings{Authenticator: keys(), CORSOrigins: tt.origins}, exposed...)
			headers := []string{"X-API-Key", goodKey}
			if tt.origin != "" {
				headers = append(headers, "Origin", tt.origin)
			}
			got := s.ask(t, "POST /private", "", headers...)
			if got.status != http.StatusOK || got.header.Get("Access-Control-Allow-Origin") != tt.allowed || got.header.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("%d %v", got.status, got.header)
			}
			if vary := got.header.Get("Vary"); (vary == "Origin") != (len(tt.origins) > 0) {
				t.Errorf("it varies with %q", vary)
			}
			got = s.ask(t, "OPTIONS /private", "", append(headers[2:], preflight...)...)
			if want := tt.allowed != ""; want != (got.status == http.StatusNoContent) || want != (got.header.Get("Access-Control-Allow-Headers") == preflight[3]) {
				t.Errorf("the preflight gets %d %v", got.status, got.header)
			}
		})
	}
}
