package admin_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/oauthtest"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

const (
	acmeAdminKey  = "ark_acme-admin-acme-admin"
	otherAdminKey = "ark_globex-admin-globex-admin"
	// returnTo is a redirect URL at which nobody listens.
	returnTo = "http://127.0.0.1:9/callback"
)

// loginSite is a server with an MCP server that needs a login, and its log.
type loginSite struct {
	*site
	world *oauthtest.World
	logs  *observer.ObservedLogs
}

// logText returns all that was logged.
func (s *loginSite) logText() string {
	text := ""
	for _, entry := range s.logs.All() {
		text += fmt.Sprintln(entry.Message, entry.ContextMap())
	}
	return text
}

func openLoginSite(t *testing.T, more string) *loginSite {
	t.Helper()
	w := oauthtest.New(t)
	text := strings.Replace(configuration, "tools: {", fmt.Sprintf("tools:\n  plain: {type: mcp, url: %q}\n  issues: {type: mcp, url: %q, auth: {type: oauth_authorization_code%s}}\n  echo: {", w.URL, w.URL, more), 1)
	text = strings.Replace(text, "  echo: {echo: {type: command, description: Echoes., command: [cat]}}", "  echo: {type: command, description: Echoes., command: [cat]}", 1)
	text = strings.Replace(text, "server:\n", "server:\n  encryption_key: a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s=\n", 1)
	text = strings.Replace(text, "revisions: {source: store}\n", "", 1)
	text += "    - {id: acme, key: " + acmeAdminKey + ", tenant: acme, subject: kim, scopes: [\"config:read:own\", \"config:write:own\"]}\n" +
		"    - {id: globex, key: " + otherAdminKey + ", tenant: globex, subject: pat, scopes: [\"config:read:own\", \"config:write:own\"]}\n"
	core, logs := observer.New(zap.DebugLevel)
	return &loginSite{openWith(t, text, zap.New(core)), w, logs}
}

// beginLogin starts a login and returns its ID and the query with which the browser would return.
func (s *loginSite) beginLogin(key, tenant, more string) (id, query string) {
	s.Helper()
	status, answer := s.ask(key, "POST /tenants/"+tenant+"/logins/issues\n"+`{"redirect_url":"`+returnTo+`"`+more+`}`, "")
	if status != http.StatusOK || at(answer, "redirect_url") != returnTo {
		s.Fatalf("a login of %s begins with %d: %v", tenant, status, answer)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	defer client.CloseIdleConnections()
	resp, err := client.Get(at(answer, "url")) //nolint:noctx // a test
	if err != nil {
		s.Fatal(err)
	}
	_ = resp.Body.Close()
	back, err := url.Parse(resp.Header.Get("Location"))
	if err != nil || !strings.HasPrefix(back.String(), returnTo) {
		s.Fatal(back, err)
	}
	return at(answer, "id"), back.RawQuery
}

func (s *loginSite) finishLogin(key, tenant, id, query string) (int, map[string]any) {
	s.Helper()
	return s.ask(key, "POST /tenants/"+tenant+"/logins/issues/finish\n"+fmt.Sprintf(`{"id":%q,"redirect":%q}`, id, query), "")
}

func TestAServerLogsInForAClientWithABrowser(t *testing.T) {
	s := openLoginSite(t, "")
	id, query := s.beginLogin(acmeAdminKey, "acme", "")
	status, done := s.finishLogin(acmeAdminKey, "acme", id, query)
	if status != http.StatusOK || at(done, "issuer") != s.world.Issuer || at(done, "renewable") != "true" || done["list_error"] != nil || at(done, "tools") == "0" {
		t.Errorf("the login ends with %d: %v", status, done)
	}
	shown := fmt.Sprint(done)
	if status, again := s.finishLogin(acmeAdminKey, "acme", id, query); status != http.StatusNotFound {
		t.Errorf("a login is finished twice, with %d: %v", status, again)
	}
	for _, other := range []string{"globex", "ops"} {
		if got := s.want(http.StatusOK, "DELETE /tenants/"+other+"/logins/issues", ""); at(got, "found") != "false" {
			t.Errorf("%s has the login of another tenant: %v", other, got)
		}
	}
	gone := s.want(http.StatusOK, "DELETE /tenants/acme/logins/issues", "")
	if at(gone, "found") != "true" || at(gone, "revoked") != "true" || s.world.Revoked() == 0 {
		t.Errorf("the login is deleted with %v", gone)
	}
	shown += fmt.Sprint(gone) + s.logText()
	if len(s.world.Secrets()) == 0 {
		t.Error("no token was issued")
	}
	code, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range append(s.world.Secrets(), code.Get("code"), code.Get("state")) {
		if strings.Contains(shown, secret) {
			t.Errorf("%s is shown or logged", secret)
		}
	}
	for _, want := range []string{"start_login", "finish_login", "delete_login"} {
		if !strings.Contains(s.logText(), "operation:"+want) {
			t.Errorf("%s is not audited", want)
		}
	}
}

func TestALoginOfAnotherTenantIsUnknown(t *testing.T) {
	s := openLoginSite(t, "")
	id, query := s.beginLogin(acmeAdminKey, "acme", "")
	for _, r := range []struct {
		key, tenant string
		want        int
	}{
		{otherAdminKey, "acme", http.StatusNotFound}, {otherAdminKey, "globex", http.StatusNotFound},
		{plainKey, "acme", http.StatusForbidden}, {readerKey, "acme", http.StatusForbidden}, {someKey, "acme", http.StatusBadRequest},
		{operatorKey, "globex", http.StatusNotFound},
	} {
		if status, answer := s.finishLogin(r.key, r.tenant, id, query); status != r.want {
			t.Errorf("%s finishes the login of acme with %d, want %d: %v", r.key, status, r.want, answer)
		}
	}
	for key, want := range map[string]int{otherAdminKey: http.StatusNotFound, plainKey: http.StatusForbidden, readerKey: http.StatusForbidden, someKey: http.StatusBadRequest} {
		for _, request := range []string{"POST /tenants/acme/logins/issues\n" + `{"redirect_url":"` + returnTo + `"}`, "DELETE /tenants/acme/logins/issues"} {
			if status, answer := s.ask(key, request, ""); status != want {
				t.Errorf("%s: %s is answered with %d, want %d: %v", key, request, status, want, answer)
			}
		}
	}
	if status, answer := s.finishLogin(operatorKey, "acme", id, query); status != http.StatusOK {
		t.Errorf("then the login ends with %d: %v", status, answer)
	}
}

func TestWhatOfALoginIsRefused(t *testing.T) {
	s := openLoginSite(t, "")
	for request, want := range map[string]int{
		"POST /tenants/acme/logins/issues\n" + `{}`:                                                                                   http.StatusBadRequest,
		"POST /tenants/acme/logins/issues\n" + `{"redirect_url":"http://evil.example:80/callback"}`:                                   http.StatusBadRequest,
		"POST /tenants/acme/logins/issues\n" + `{"redirect_url":"https://127.0.0.1:9/callback"}`:                                      http.StatusBadRequest,
		"POST /tenants/acme/logins/issues\n" + `{"redirect_url":"` + returnTo + `","scopes":["a b"]}`:                                 http.StatusBadRequest,
		"POST /tenants/acme/logins/issues\n" + `{"redirect_url":"` + returnTo + `","subject":"a\u0000b"}`:                             http.StatusBadRequest,
		"POST /tenants/acme/logins/issues\n" + `{"redirect_url":"` + returnTo + `","subject":"` + strings.Repeat("x", 257) + `"}`:     http.StatusBadRequest,
		"POST /tenants/acme/logins/issues\n" + `{"redirect_url":"` + returnTo + `","scopes":[` + strings.Repeat(`"x",`, 99) + `"x"]}`: http.StatusBadRequest,
		"POST /tenants/acme/logins/plain\n" + `{"redirect_url":"` + returnTo + `"}`:                                                   http.StatusNotFound,
		"POST /tenants/acme/logins/none\n" + `{"redirect_url":"` + returnTo + `"}`:                                                    http.StatusNotFound,
		"POST /tenants/acme/logins/issues/finish\n" + `{"id":"guessed","redirect":"code=x&state=y"}`:                                  http.StatusNotFound,
		"POST /tenants/acme/logins/issues/finish\n" + `{"id":"guessed","redirect":"%"}`:                                               http.StatusBadRequest,
		"DELETE /tenants/acme/logins/issues?subject=%00":                                                                              http.StatusBadRequest,
	} {
		s.want(want, request, "")
	}
	for query, want := range map[string]string{
		"":                                "from another login",
		"code=x&state=y":                  "from another login",
		"error=access_denied":             "from another login",
		"error=access_denied&state=STATE": "refuses: access_denied",
		"code=stolen&state=STATE":         "",
		"code=stolen&state=STATE&iss=http://evil": "",
	} {
		id, returned := s.beginLogin(acmeAdminKey, "acme", "")
		values, err := url.ParseQuery(returned)
		if err != nil {
			t.Fatal(err)
		}
		status, answer := s.finishLogin(acmeAdminKey, "acme", id, strings.Replace(query, "STATE", url.QueryEscape(values.Get("state")), 1))
		if status != http.StatusBadGateway || at(answer, "error", "code") != "login_failed" || !strings.Contains(at(answer, "error", "message"), want) {
			t.Errorf("%q is answered with %d: %v", query, status, answer)
		}
	}
	if n := len(s.world.Secrets()); n != 0 {
		t.Errorf("%d tokens were issued", n)
	}
}

// TestLoginsThatWaitAreBounded starts logins of many subjects. A second login of one subject
// replaces its first, and other tenants are not affected.
func TestLoginsThatWaitAreBounded(t *testing.T) {
	s := openLoginSite(t, ", per: subject")
	first, query := s.beginLogin(acmeAdminKey, "acme", `,"subject":"s0"`)
	s.beginLogin(acmeAdminKey, "acme", `,"subject":"s0"`)
	if status, answer := s.finishLogin(acmeAdminKey, "acme", first, query); status != http.StatusNotFound {
		t.Errorf("a replaced login ends with %d: %v", status, answer)
	}
	for i := range 7 {
		s.beginLogin(acmeAdminKey, "acme", fmt.Sprintf(`,"subject":"s%d"`, i+1))
	}
	if status, answer := s.ask(acmeAdminKey, "POST /tenants/acme/logins/issues\n"+`{"redirect_url":"`+returnTo+`","subject":"s9"}`, ""); status != http.StatusTooManyRequests || at(answer, "error", "code") != "too_many_logins" {
		t.Errorf("a login too many is answered with %d: %v", status, answer)
	}
	id, query := s.beginLogin(otherAdminKey, "globex", `,"subject":"pat"`)
	if status, answer := s.finishLogin(otherAdminKey, "globex", id, query); status != http.StatusOK {
		t.Errorf("the login of another tenant ends with %d: %v", status, answer)
	}
}
