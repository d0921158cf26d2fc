package settings_test

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/spec"
	"pgregory.net/rapid"
)

var (
	hash   = "sha256:" + strings.Repeat("0a", 32)
	oneKey = []settings.ServerKey{{ID: "ci", Hash: hash}}
)

func TestServerValidate(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		server settings.Server
		want   []string
	}{
		"nothing":          {settings.Server{}, nil},
		"no HTTP":          {settings.Server{Listen: "none"}, nil},
		"another port":     {settings.Server{Listen: "[::1]:0"}, nil},
		"this machine":     {settings.Server{Listen: "localhost:80"}, nil},
		"in capitals":      {settings.Server{Listen: "LOCALHOST:80"}, nil},
		"a machine":        {settings.Server{Listen: ":8080", PublicURL: "https://agents.example.com/runtime", Keys: oneKey}, nil},
		"no port":          {settings.Server{Listen: "127.0.0.1"}, []string{`invalid-value listen: listen is "127.0.0.1"; it must be host:port`}},
		"a URL":            {settings.Server{Listen: "http://127.0.0.1:80"}, []string{`invalid-value listen: listen is "http://127.0.0.1:80"; it must be host:port`}},
		"a service's name": {settings.Server{Listen: "127.0.0.1:http"}, []string{`invalid-value listen: listen has the port "http"; it must be a number from 0 to 65535`}},
		"a host of words":  {settings.Server{Listen: "my host:80"}, []string{`invalid-value listen: listen has the host "my host"; it must be a name or an IP address`}},
		"too far a port":   {settings.Server{Listen: "127.0.0.1:65536"}, []string{`invalid-value listen: listen has the port "65536"; it must be a number from 0 to 65535`}},
		"everybody":        {settings.Server{Listen: ":80", PublicURL: "https://x"}, []string{"invalid-value listen: listen is reachable from other machines without a key: anybody could use every agent"}},
		"everybody by gRPC": {settings.Server{A2A: settings.ServerA2A{GRPCListen: "0.0.0.0:90"}}, []string{
			"invalid-value a2a.grpc_listen: grpc_listen is reachable from other machines without a key: anybody could use every agent",
		}},
		"everybody may": {settings.Server{Listen: ":80", PublicURL: "https://x", AllowUnauthenticated: true}, nil},
		"who knows where": {settings.Server{Listen: ":80", Keys: oneKey}, []string{
			"missing-field public_url: without public_url, agent cards name the listen address, which others may not reach",
		}},
		"an invalid URL":   {settings.Server{PublicURL: "agents.example.com"}, []string{"invalid-value public_url: public_url must start with http:// or https://"}},
		"a password in it": {settings.Server{PublicURL: "https://u:secret@x"}, []string{"invalid-value public_url: public_url must not contain a user or password"}},
		"keys that nobody needs": {settings.Server{Keys: oneKey, AllowUnauthenticated: true}, []string{
			"invalid-value allow_unauthenticated: allow_unauthenticated is set, but there are keys",
		}},
		"sites": {settings.Server{Keys: oneKey, CORSOrigins: []string{"*", "http://localhost:3000"}}, nil},
		"invalid sites": {settings.Server{CORSOrigins: []string{"*", "example.com", "https://x/"}}, []string{
			"invalid-value cors_origins[0]: every site is allowed and no key is required: any page could use every agent",
			`invalid-value cors_origins[1]: "example.com" is not a valid origin`,
			`invalid-value cors_origins[2]: "https://x/" is not a valid origin`,
		}},
		"invalid runs": {settings.Server{AgentRuns: settings.ServerAgentRuns{LocalToolTimeout: new(spec.Duration(0)), AllowPrivate: []string{"http://x"}}}, []string{
			"invalid-value agent_runs.local_tool_timeout: local_tool_timeout is 0s; it must be more than 0",
			`invalid-value agent_runs.allow_private[0]: allow "http://x": it is a URL; write the host alone`,
		}},
		"a short secret": {settings.Server{EncryptionKey: "c2VjcmV0"}, []string{"invalid-value encryption_key: encryption_key is not the base64 of 32 bytes"}},
		"invalid limits": {
			settings.Server{
				Limits: settings.ServerLimits{MaxBodyBytes: new(0), MaxHeaderBytes: new(-1), ReadTimeout: new(spec.Duration(0))},
				Rate:   settings.ServerRate{PerSecond: -1, Burst: -1, Concurrency: -1},
				A2A:    settings.ServerA2A{MaxWait: new(spec.Duration(-1)), Push: settings.ServerA2APush{AllowPrivate: []string{"10.0.0.0/8", "http://x"}}},
			},
			[]string{
				"invalid-value limits.max_body_bytes: max_body_bytes is 0; it must be 1 or more",
				"invalid-value limits.max_header_bytes: max_header_bytes is -1; it must be 1 or more",
				"invalid-value limits.read_timeout: read_timeout is 0s; it must be more than 0",
				"invalid-value rate.per_second: per_second is -1; it must be 0 or more",
				"invalid-value rate.burst: burst is -1; it must be 0 or more",
				"invalid-value rate.concurrency: concurrency is -1; it must be 0 or more",
				"invalid-value a2a.max_wait: max_wait is -1ns; it must be more than 0",
				`invalid-value a2a.push.allow_private[1]: allow "http://x": it is a URL; write the host alone`,
			},
		},
		"a burst of nothing": {settings.Server{Rate: settings.ServerRate{Burst: 3}}, []string{"invalid-value rate.burst: burst belongs to per_second, which is 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, tt.server.Validate(), tt.want...)
		})
	}
}

func TestServerKeysValidate(t *testing.T) {
	t.Parallel()
	const secret = "secret-secret-secret"
	for name, tt := range map[string]struct {
		keys []settings.ServerKey
		want []string
	}{
		"both ways": {[]settings.ServerKey{
			{ID: "a", Hash: hash, Agents: spec.Names{"team-*"}, Scopes: spec.Names{"runs:read"}}, {ID: "b", Key: secret},
		}, nil},
		"neither":        {[]settings.ServerKey{{ID: "a"}}, []string{"missing-field keys[0]: the key has neither hash nor key"}},
		"both":           {[]settings.ServerKey{{ID: "a", Hash: hash, Key: secret}}, []string{"invalid-value keys[0].key: the key has both hash and key; only one of them can be given"}},
		"a short hash":   {[]settings.ServerKey{{ID: "a", Hash: hash[:70]}}, []string{"invalid-value keys[0].hash: hash is not sha256: and 64 hexadecimal digits"}},
		"another hash":   {[]settings.ServerKey{{ID: "a", Hash: "md5:x"}}, []string{"invalid-value keys[0].hash: hash is not sha256: and 64 hexadecimal digits"}},
		"a short key":    {[]settings.ServerKey{{ID: "a", Key: "secret"}}, []string{"invalid-value keys[0].key: key has 6 characters; it must have 16 or more, all random"}},
		"a ragged key":   {[]settings.ServerKey{{ID: "a", Key: secret + "\n"}}, []string{"invalid-value keys[0].key: key begins or ends with white space"}},
		"a bad id":       {[]settings.ServerKey{{ID: "a b", Hash: hash}}, []string{`invalid-id keys[0].id: key id "a b" is not allowed`}},
		"the same id":    {[]settings.ServerKey{{ID: "a", Hash: hash}, {ID: "a", Key: secret}}, []string{`duplicate-id keys[1].id: there is a key "a" already`}},
		"the same hash":  {[]settings.ServerKey{{ID: "a", Hash: hash}, {ID: "b", Hash: hash}}, []string{"invalid-value keys[1].hash: another key has the same hash; only the first would count"}},
		"the same key":   {[]settings.ServerKey{{ID: "a", Key: secret}, {ID: "b", Key: secret}}, []string{"invalid-value keys[1].key: another key is the same; only the first would count"}},
		"no pattern":     {[]settings.ServerKey{{ID: "a", Hash: hash, Agents: spec.Names{"a", "["}}}, []string{`invalid-value keys[0].agents[1]: invalid pattern "[": the pattern does not compile: unexpected end of input at byte 1`}},
		"metrics":        {[]settings.ServerKey{{ID: "a", Hash: hash, Agents: spec.Names{"*"}, Scopes: spec.Names{"runs:read", "metrics:read"}}}, []string{`invalid-value keys[0].scopes[1]: metrics:read is not allowed with agents: the metrics are about all agents`}},
		"no scope":       {[]settings.ServerKey{{ID: "a", Hash: hash, Scopes: spec.Names{"", `x"y`}}}, []string{`invalid-value keys[0].scopes[0]: unknown scope ""`, `invalid-value keys[0].scopes[1]: unknown scope "x\"y"`}},
		"nothing at all": {[]settings.ServerKey{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := settings.Server{Keys: tt.keys}
			expect(t, s.Validate(), tt.want...)
		})
	}
}

func TestScopesThatNothingNeedsAreWarnedOf(t *testing.T) {
	t.Parallel()
	s := settings.Server{
		Keys:  []settings.ServerKey{{ID: "a", Hash: hash, Scopes: spec.Names{"runs:read", "run:read", "things:count", "x y"}}},
		OAuth: &settings.ServerOAuth{Clients: []settings.OAuthClient{{ID: "b", Scopes: spec.Names{"things:count", "runs:raed"}}}},
	}
	expect(t, s.UnknownScopes(append([]string{"things:count"}, settings.Scopes...)),
		`unknown-scope keys[0].scopes[1]: no route needs the scope "run:read"`,
		`unknown-scope oauth.clients[0].scopes[1]: no route needs the scope "runs:raed"`)
}

func TestAKeyBelongsToSomebody(t *testing.T) {
	t.Parallel()
	for want, key := range map[string]settings.ServerKey{
		"default/ci": {ID: "ci"},
		"acme/ann":   {ID: "ci", Tenant: "acme", Subject: "ann"},
	} {
		if tenant, subject := key.Owner(); tenant+"/"+subject != want {
			t.Errorf("%+v belongs to %s/%s", key, tenant, subject)
		}
	}
}

func TestADateEndsWithItsDay(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-12-31":                "2027-01-01T00:00:00Z",
		"2024-02-28":                "2024-02-29T00:00:00Z",
		"2026-12-31T18:00:00Z":      "2026-12-31T18:00:00Z",
		"2026-12-31T18:00:00+02:00": "2026-12-31T18:00:00+02:00",
		"31.12.2026":                "",
		"2026-02-30":                "",
		"":                          "",
	} {
		var d settings.Date
		if err := d.UnmarshalText([]byte(text)); (err == nil) != (want != "") || err == nil && d.End().Format(time.RFC3339) != want {
			t.Errorf("%q ends at %s, %v", text, d.End(), err)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		d := time.Unix(rapid.Int64Range(0, 1<<33).Draw(rt, "time"), 0).UTC()
		layout := rapid.SampledFrom([]string{time.DateOnly, time.RFC3339}).Draw(rt, "layout")
		var read settings.Date
		if err := read.UnmarshalText([]byte(d.Format(layout))); err != nil {
			rt.Fatal(err)
		}
		if text, err := read.MarshalText(); err != nil || string(text) != d.Format(layout) {
			rt.Errorf("%s is written as %s, %v", d.Format(layout), text, err)
		}
	})
}

func TestDefaultsOfAServer(t *testing.T) {
	t.Parallel()
	var s settings.Server
	if s.Address() != "127.0.0.1:8080" || s.Limits.BodyLimit() != 16<<20 || s.Limits.HeaderLimit() != 64<<10 ||
		s.Limits.HeaderTime() != 10*time.Second || s.Limits.BodyTime() != time.Minute || s.Limits.WriteTime() != 30*time.Second ||
		s.Limits.IdleTime() != 2*time.Minute || !s.A2A.On() || !s.A2A.Push.On() || !s.AgentRuns.On() || s.AgentRuns.LocalToolTime() != 5*time.Minute || s.A2A.WaitTime() != time.Minute || s.EncryptionBytes() != nil {
		t.Errorf("%+v", s)
	}
	s.EncryptionKey = base64.StdEncoding.EncodeToString(make([]byte, 32))
	if len(s.EncryptionBytes()) != 32 || len(s.Validate()) > 0 {
		t.Error(s.Validate())
	}
}
