package azure

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
)

// cloud answers token requests and model requests that carry the latest token.
type cloud struct {
	t *testing.T
	// token answers a request for a token.
	token  func(n int32, r *http.Request) (status int, body string)
	tokens atomic.Int32
}

func (c *cloud) RoundTrip(r *http.Request) (*http.Response, error) {
	res := vendortest.StreamResponse(r, strings.NewReader(""))
	if r.URL.Host != "acme.openai.azure.com" {
		var body string
		res.StatusCode, body = c.token(c.tokens.Add(1), r)
		res.Body = io.NopCloser(strings.NewReader(body))
		return res, nil
	}
	if got, want := r.Header.Get("Authorization"), fmt.Sprintf("Bearer token-number-%d", c.tokens.Load()); got != want {
		c.t.Errorf("the request carries %q, want %q", got, want)
	}
	res.Body = io.NopCloser(bytes.NewReader(vendors["v1 chat"].Recorded(c.t, "text")))
	return res, nil
}

func (c *cloud) newExecutor(t *testing.T, e EntraID) model.Executor {
	t.Helper()
	executor, err := newExecutor(model.Settings{ID: vendortest.Provider},
		&Config{BaseURL: testURL, API: "chat_completions", EntraID: &e}, transports{c, c})
	if err != nil {
		t.Fatal(err)
	}
	return executor
}

func issued(n int32, expires string) string {
	return fmt.Sprintf(`{"access_token":"token-number-%d","token_type":"Bearer",%s}`, n, expires)
}

func formOf(t *testing.T, r *http.Request) url.Values {
	t.Helper()
	body, _ := io.ReadAll(r.Body)
	form, err := url.ParseQuery(string(body))
	if err != nil || r.Method != http.MethodPost || r.Header.Get("Content-Type") != "application/x-www-form-urlencoded" {
		t.Errorf("the request is %s %s %s", r.Method, r.Header, body)
	}
	return form
}

func TestTokensOfEntraID(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("eyJ.federated\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		entra   EntraID
		address string
		form    url.Values
		header  map[string]string
		expires string
	}{
		"client secret": {
			EntraID{TenantID: "ten", ClientID: "app", ClientSecret: "hush"}, "https://login.microsoftonline.com/ten/oauth2/v2.0/token",
			url.Values{"grant_type": {"client_credentials"}, "client_id": {"app"}, "client_secret": {"hush"}, "scope": {defaultScope}}, nil, `"expires_in":3599`,
		},
		"workload identity": {
			EntraID{TenantID: "ten", ClientID: "app", FederatedTokenFile: file, Authority: "https://login.microsoftonline.us/", Scope: "https://ai.azure.com/.default"},
			"https://login.microsoftonline.us/ten/oauth2/v2.0/token",
			url.Values{"grant_type": {"client_credentials"}, "client_id": {"app"}, "client_assertion": {"eyJ.federated"}, "client_assertion_type": {assertionType}, "scope": {"https://ai.azure.com/.default"}}, nil, `"expires_in":3599`,
		},
		"managed identity": {
			EntraID{ManagedIdentity: true, ClientID: "app"}, metadataAddress + "&resource=https%3A%2F%2Fcognitiveservices.azure.com&client_id=app", nil, map[string]string{"Metadata": "true"}, `"expires_in":"3599"`,
		},
		"managed identity of an app": {
			EntraID{ManagedIdentity: true, IdentityEndpoint: "http://localhost:42/msi/token", IdentityHeader: "hush"},
			"http://localhost:42/msi/token?api-version=2019-08-01&resource=https%3A%2F%2Fcognitiveservices.azure.com", nil, map[string]string{"X-Identity-Header": "hush"}, `"expires_on":"2000000000"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := &cloud{t: t, token: func(n int32, r *http.Request) (int, string) {
				if r.URL.String() != tt.address {
					t.Errorf("the token is requested at %s", r.URL)
				}
				if tt.form != nil {
					if form := formOf(t, r); form.Encode() != tt.form.Encode() {
						t.Errorf("the form is %v", form)
					}
				}
				for name, value := range tt.header {
					if r.Header.Get(name) != value {
						t.Errorf("the header %s is %q", name, r.Header.Get(name))
					}
				}
				return http.StatusOK, issued(n, tt.expires)
			}}
			e := c.newExecutor(t, tt.entra)
			var group sync.WaitGroup
			for range 20 {
				group.Go(func() {
					if _, failure := vendortest.Ask(t, e, vendortest.Hello(testModel)); failure != nil {
						t.Error(failure)
					}
				})
			}
			group.Wait()
			if c.tokens.Load() != 1 {
				t.Errorf("%d tokens were requested for 20 calls", c.tokens.Load())
			}
		})
	}
}

func TestTokensThatAreNotIssued(t *testing.T) {
	app := EntraID{TenantID: "ten", ClientID: "app", ClientSecret: "hush-hush"}
	for _, tt := range []struct {
		entra  EntraID
		status int
		body   string
		class  model.ErrorClass
		said   string
	}{
		{app, 401, `{"error":"invalid_client","error_description":"AADSTS7000215: Invalid client secret hush-hush provided."}`, model.Unauthorized, "401: invalid_client AADSTS7000215"},
		{app, 400, `not JSON hush-hush`, model.Unauthorized, "answers 400"},
		{app, 429, `{}`, model.RateLimited, "answers 429"},
		{app, 503, `{}`, model.Overloaded, "answers 503"},
		{app, 500, `{}`, model.Provider, "answers 500"},
		{app, 302, ``, model.Unauthorized, "answers 302"},
		{app, 200, `{"token":"hush-hush"}`, model.Unauthorized, "no access_token"},
		{app, 200, `hush-hush`, model.Unauthorized, "no access_token"},
		{EntraID{ManagedIdentity: true}, 400, `{"error":"invalid_request","error_description":"Identity not found"}`, model.Unauthorized, "managed identity: the server answers 400: invalid_request"},
		{EntraID{TenantID: "ten", ClientID: "app", FederatedTokenFile: "/does/not/exist"}, 200, ``, model.Unauthorized, "/does/not/exist"},
	} {
		c := &cloud{t: t, token: func(int32, *http.Request) (int, string) { return tt.status, tt.body }}
		_, failure := vendortest.Ask(t, c.newExecutor(t, tt.entra), vendortest.Hello(testModel))
		if failure == nil || failure.Class != tt.class || !strings.Contains(failure.Message, tt.said) || strings.Contains(failure.Message, "hush") {
			t.Errorf("%d %s gives %v, want %s: %s", tt.status, tt.body, failure, tt.class, tt.said)
		}
	}
}

func TestACallEndsWhileATokenIsRequested(t *testing.T) {
	asked, release := make(chan struct{}), make(chan struct{})
	c := &cloud{t: t, token: func(n int32, _ *http.Request) (int, string) {
		close(asked)
		<-release
		return http.StatusOK, issued(n, `"expires_in":3599`)
	}}
	e := c.newExecutor(t, EntraID{ManagedIdentity: true})
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if _, failure := vendortest.AskContext(ctx, t, e, vendortest.Hello(testModel)); failure == nil || failure.Class != model.Canceled || !errors.Is(failure, context.Canceled) {
			t.Errorf("the call that was canceled ends with %v", failure)
		}
	})
	<-asked
	group.Go(func() {
		if _, failure := vendortest.Ask(t, e, vendortest.Hello(testModel)); failure != nil {
			t.Error(failure)
		}
	})
	cancel()
	close(release)
	group.Wait()
	if n := c.tokens.Load(); n != 1 {
		t.Errorf("%d tokens were requested", n)
	}
}
