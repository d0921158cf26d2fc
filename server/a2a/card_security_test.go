package a2a_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	a2aserver "github.com/agentruntime/agentruntime/server/a2a"
)

// accepting returns the setting for credentials that never change.
func accepting(c a2aserver.Credentials) func() a2aserver.Credentials {
	return func() a2aserver.Credentials { return c }
}

// Cards name each credential that is accepted, in both versions, and no other.
func TestCardsNameTheCredentialsThatAreAccepted(t *testing.T) {
	for name, c := range map[string]struct {
		accepted a2aserver.Credentials
		open     bool
		want     []string
		text     string
	}{
		"open":  {open: true},
		"none":  {},
		"keys":  {accepted: a2aserver.Credentials{Keys: true}, want: []string{"bearer", "key"}, text: "X-API-Key"},
		"jwt":   {accepted: a2aserver.Credentials{Issuer: "https://id.example"}, want: []string{"jwt"}, text: "https://id.example"},
		"oauth": {accepted: a2aserver.Credentials{TokenURL: "https://a.example/token"}, want: []string{"oauth"}, text: "https://a.example/token"},
		"all": {
			accepted: a2aserver.Credentials{Keys: true, Issuer: "https://id.example", TokenURL: "https://a.example/token"},
			want:     []string{"bearer", "jwt", "key", "oauth"},
		},
	} {
		for _, both := range []bool{false, true} {
			w := open(t, published, func(s *setup) {
				s.settings.V03, s.settings.Open, s.settings.Credentials = both, c.open, accepting(c.accepted)
			})
			_, body := w.do(http.MethodGet, "/a2a/clerk/.well-known/agent-card.json", "")
			var card struct {
				SecuritySchemes      map[string]json.RawMessage
				SecurityRequirements []struct{ Schemes map[string]json.RawMessage }
			}
			if err := json.Unmarshal([]byte(body), &card); err != nil {
				t.Fatal(err)
			}
			var required []string
			for _, r := range card.SecurityRequirements {
				required = append(required, slices.Collect(maps.Keys(r.Schemes))...)
			}
			slices.Sort(required)
			if got := slices.Sorted(maps.Keys(card.SecuritySchemes)); !slices.Equal(got, c.want) || !slices.Equal(required, c.want) || !strings.Contains(body, c.text) {
				t.Errorf("%s: the card names %v and requires %v, not %v: %s", name, got, required, c.want, body)
			}
		}
	}
}
