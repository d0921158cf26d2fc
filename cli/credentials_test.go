package cli

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// withClients makes the server issue tokens.
const withClients = guarded + `  encryption_key: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=
  oauth:
    clients: [{id: desk, secret: desk-secret-desk-secret, scopes: [metrics:read]}, {id: bot, secret: bot-secret-bot-secret, scopes: [a2a:invoke]}]
`

// issue requests a token.
func issue(t *testing.T, url, form string) (status int, token string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/api/oauth/token", strings.NewReader(form))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var body struct {
		Token string `json:"access_token"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body.Token
}

// scraped returns the status of a metrics request with a credential.
func scraped(t *testing.T, url, shown string) (status int, challenge string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+shown)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode, resp.Header.Get("WWW-Authenticate")
}

// form sends a form; the variable TOKEN then holds the token in the answer, if any: "form STATUS
// URL FORM".
func form(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: form STATUS URL FORM")
	}
	ctx, cancel := context.WithTimeout(context.Background(), storeTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, args[1], strings.NewReader(args[2]))
	ts.Check(err)
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := http.DefaultClient.Do(req)
	ts.Check(err)
	defer resp.Body.Close()
	var body struct {
		Token string `json:"access_token"`
	}
	ts.Check(json.NewDecoder(resp.Body).Decode(&body))
	if body.Token != "" {
		ts.Setenv("TOKEN", body.Token)
	}
	if strconv.Itoa(resp.StatusCode) != args[0] {
		ts.Fatalf("the status is %s, want %s", resp.Status, args[0])
	}
}

// answers fetches a page repeatedly until it has a status: "answers STATUS URL HEADER".
func answers(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: answers STATUS URL HEADER")
	}
	name, value, _ := strings.Cut(args[2], ": ")
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(storeTime); ; {
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, args[1], http.NoBody)
		ts.Check(err)
		req.Header.Set(name, value)
		resp, err := http.DefaultClient.Do(req)
		ts.Check(err)
		_ = resp.Body.Close()
		if strconv.Itoa(resp.StatusCode) == args[0] {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			ts.Fatalf("the status is %s, want %s", resp.Status, args[0])
		}
	}
}

func TestAConfiguredClientGetsTokens(t *testing.T) {
	t.Parallel()
	s := serveHTTP(t, withClients, oneReply)
	status, token := issue(t, s.LocalURL(), "grant_type=client_credentials&client_id=desk&client_secret=desk-secret-desk-secret")
	if status != http.StatusOK || !strings.HasPrefix(token, "mantyx_at_") {
		t.Fatalf("%d %q", status, token)
	}
	if status, _ := scraped(t, s.LocalURL(), token); status != http.StatusOK {
		t.Errorf("the token gives %d", status)
	}
	_, narrow := issue(t, s.LocalURL(), "grant_type=client_credentials&client_id=bot&client_secret=bot-secret-bot-secret")
	if status, challenge := scraped(t, s.LocalURL(), narrow); status != http.StatusForbidden || !strings.Contains(challenge, `error="insufficient_scope", scope="metrics:read"`) {
		t.Errorf("a token without the scope gives %d, %s", status, challenge)
	}
	if status, _ := issue(t, s.LocalURL(), "grant_type=client_credentials&client_id=desk&client_secret=wrong"); status != http.StatusUnauthorized {
		t.Errorf("a wrong secret gives %d", status)
	}
	if status, _ := scraped(t, s.LocalURL(), rightKey); status != http.StatusOK {
		t.Errorf("a key gives %d", status)
	}
}
