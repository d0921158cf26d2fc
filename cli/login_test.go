package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/internal/testkit/oauthtest"
)

// loginFiles is a configuration with a server that requires a login.
const loginFiles = `version: 1
providers: {s: {type: scripted, script: ./script.yaml}}
models: {m: {provider_id: s, upstream_model: x}}
store: {driver: sqlite, dsn: %q}
server: {encryption_key: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=}
tools:
  issues: {type: mcp, url: %q, auth: {type: oauth_authorization_code}}
  plain: {type: mcp, url: %q}
agents: {clerk: {model_id: m}}
`

const loginScript = `replies:
  - match: Go
    tool_calls: [{id: c1, name: mcp__issues__echo, arguments: {text: a-word-from-the-server}}]
  - match: a-word-from-the-server
    text: It worked.
  - text: It failed.
`

// browser writes to a buffer and opens the URL that is printed.
type browser struct {
	bytes.Buffer
	world *oauthtest.World
}

var printedURL = regexp.MustCompile(`(?m)^  (http\S+)$`)

// Write opens the URL.
func (b *browser) Write(p []byte) (int, error) {
	if found := printedURL.FindSubmatch(p); found != nil {
		b.world.Browse(string(found[1]))
	}
	return b.Buffer.Write(p)
}

// TestALoginSurvivesItsProcess logs in with one command and uses the login with others: for the
// tenant of the login alone, from a store that shows no token.
func TestALoginSurvivesItsProcess(t *testing.T) {
	w := oauthtest.New(t)
	dir := t.TempDir()
	store, config := filepath.Join(dir, "store.db"), filepath.Join(dir, "config.yaml")
	for name, text := range map[string]string{"config.yaml": fmt.Sprintf(loginFiles, store, w.URL, w.URL), "script.yaml": loginScript} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	shown := ""
	run := func(code int, want string, args ...string) {
		t.Helper()
		out, err := &browser{world: w}, new(bytes.Buffer)
		p := program{streams: streams{in: strings.NewReader(""), out: out, err: err}, Components: shipped.Components()}
		if got := p.run(t.Context(), args); got != code || !strings.Contains(out.String()+err.String(), want) {
			t.Errorf("%v ends with %d, want %d with %q:\n%s%s", args, got, code, want, out.String(), err.String())
		}
		shown += out.String() + err.String()
	}
	run(exitUsage, `"plain" needs no login; there are issues`, "login", config, "plain")
	run(exitFailed, "nobody logged in within 1ms", "login", config, "issues", "--timeout", "1ms")
	run(exitOK, "Logged in at "+w.Issuer+" for tenant default.", "login", config, "issues")
	run(exitOK, "It worked.", "run", config, "clerk", "Go", "--session", "one")
	w.Revoke(false)
	run(exitOK, "It worked.", "run", config, "clerk", "Go", "--session", "two")
	run(exitOK, "login required: nobody has logged in", "run", config, "clerk", "Go", "--session", "three", "--tenant", "acme", "--format", "events")
	run(exitOK, "login required: logins are in the store", "run", config, "clerk", "Go", "--format", "events")
	run(exitOK, "", "explain", config, "clerk", "--format", "json")
	run(exitOK, "", "sessions", "export", config, "one")
	run(exitOK, "Nobody has logged in for tenant acme.", "logout", config, "issues", "--tenant", "acme")
	run(exitOK, "Logged out at "+w.Issuer+" for tenant default. The tokens are revoked.", "logout", config, "issues")
	run(exitOK, "Nobody has logged in for tenant default.", "logout", config, "issues")
	run(exitOK, "login required: nobody has logged in", "run", config, "clerk", "Go", "--session", "four", "--format", "events")
	files, err := filepath.Glob(store + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range append(files, filepath.Join(dir, ".runtime", "mcp", "issues.json")) {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(f)
		_ = f.Close()
		if err != nil {
			t.Fatal(err)
		}
		shown += string(data)
	}
	if len(w.Secrets()) < 4 {
		t.Fatalf("%d tokens were issued", len(w.Secrets()))
	}
	for _, secret := range w.Secrets() {
		if strings.Contains(shown, secret) {
			t.Errorf("the token %s is shown or stored as it is", secret)
		}
	}
}
