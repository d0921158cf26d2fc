package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/nodeenv"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/mcp/internal/oauth"
)

// authScenarios are the scenarios of the suite that authorize a client, by version; extensions have
// none.
var authScenarios = map[string][]string{
	"2025-03-26": {"auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"},
	"2025-11-25": {
		"auth/metadata-default", "auth/metadata-var1", "auth/metadata-var2", "auth/metadata-var3", "auth/basic-cimd", "auth/scope-from-www-authenticate",
		"auth/scope-from-scopes-supported", "auth/scope-omitted-when-undefined", "auth/scope-step-up", "auth/scope-retry-limit",
		"auth/token-endpoint-auth-basic", "auth/token-endpoint-auth-post", "auth/token-endpoint-auth-none", "auth/pre-registration",
	},
	"2026-07-28": {
		"auth/resource-mismatch", "auth/offline-access-scope", "auth/offline-access-not-supported", "auth/authorization-server-migration", "auth/iss-supported",
		"auth/iss-not-advertised", "auth/iss-supported-missing", "auth/iss-wrong-issuer", "auth/iss-unexpected", "auth/iss-normalized", "auth/metadata-issuer-mismatch",
	},
	"": {"auth/client-credentials-jwt", "auth/client-credentials-basic"},
}

func TestConformanceOfAuthorization(t *testing.T) {
	t.Parallel()
	suite := nodeenv.Install(t, os.DirFS("../../server/mcp"))
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("testdata/conformance.mjs")
	if err != nil {
		t.Fatal(err)
	}
	for version, names := range authScenarios {
		for _, name := range names {
			t.Run(version+" "+name, func(t *testing.T) { suite.Run(t, source, program, version, name) })
		}
	}
}

// maxLogins bounds how often a person logs in because a call asks for it.
const maxLogins = 3

// authorizeClient logs in to the server of a scenario and calls its first tool.
func authorizeClient(scenario, address string) error {
	dir, err := os.MkdirTemp("", "conformance")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	var given struct {
		ClientID     string `json:"client_id"`
		ClientSecret string `json:"client_secret"`
		PrivateKey   string `json:"private_key_pem"`
	}
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &given); err != nil {
			return err
		}
	}
	auth := &serverAuth{Type: authLogin, ClientID: given.ClientID, ClientSecret: given.ClientSecret}
	switch {
	case strings.HasPrefix(scenario, "auth/client-credentials"):
		auth.Type, auth.PrivateKey = authClientCredentials, given.PrivateKey
	case scenario == "auth/basic-cimd":
		auth.ClientURL = "https://conformance-test.local/client-metadata.json"
	}
	none := ""
	made, err := newTools(tools.Settings{ID: "suite", Dir: dir}, &config{URL: address, Prefix: &none, Catalog: filepath.Join(dir, "c.json"), Auth: auth})
	if err != nil {
		return err
	}
	s := made.(*server)
	defer func() { _ = s.Close() }()
	if auth.Type == authClientCredentials {
		if err := s.Refresh(context.Background()); err != nil {
			return err
		}
		return callFirst(s, nil)
	}
	who := newVault().of("acme", "ann")
	var scopes []string
	for range maxLogins {
		if err = logInAndCall(s, who, scopes); err == nil {
			return nil
		}
		missing, ok := errors.AsType[*oauth.LoginError](err)
		if !ok {
			return err
		}
		scopes = missing.Scopes
	}
	return err
}

// logInAndCall logs in and calls the first tool.
func logInAndCall(s *server, who *tools.TenantVariables, scopes []string) error {
	done, err := s.LogIn(context.Background(), &tools.LoginRequest{Tenant: who, Scopes: scopes, Show: func(address string) {
		go func() {
			if resp, err := http.Get(address); err == nil { //nolint:noctx,gosec // the suite's server
				_ = resp.Body.Close()
			}
		}()
	}})
	if err != nil {
		return err
	}
	if done.ListError != nil {
		return done.ListError
	}
	return callFirst(s, who)
}

func callFirst(s *server, who *tools.TenantVariables) error {
	members, _ := s.Members()
	if len(members) == 0 {
		return nil
	}
	r, err := members[0].Tool.Call(context.Background(), &tools.Call{ID: "1", Tool: members[0].ID, Arguments: json.RawMessage(`{}`), Host: new(host), Tenant: who})
	if err == nil && r.IsError {
		err = errors.New("the call failed")
	}
	return err
}
