package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/remote"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
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

// TestALoginSurvivesItsProcess logs in with one command and uses the login with others: only for
// the login's tenant, from a store that shows no token.
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
		p := program{Streams: terminal.Streams{In: strings.NewReader(""), Out: out, Err: err}, Components: shipped.Components()}
		if got := p.run(t.Context(), args); got != code || !strings.Contains(out.String()+err.String(), want) {
			t.Errorf("%v ends with %d, want %d with %q:\n%s%s", args, got, code, want, out.String(), err.String())
		}
		shown += out.String() + err.String()
	}
	run(command.Usage, `"plain" needs no login; there are issues`, "login", config, "plain")
	run(command.Failed, "nobody logged in within 1ms", "login", config, "issues", "--timeout", "1ms")
	run(command.OK, "Logged in at "+w.Issuer+" for tenant default.", "login", config, "issues")
	run(command.OK, "It worked.", "run", config, "clerk", "Go", "--session", "one")
	run(command.OK, "login: at "+w.Issuer+" for tenant default", "doctor", config, "--mcp", "issues")
	run(command.Failed, "login required: nobody has logged in; run: runtime login FILE issues --tenant acme", "doctor", config, "--mcp", "issues", "--tenant", "acme")
	w.Revoke(false)
	run(command.OK, "It worked.", "run", config, "clerk", "Go", "--session", "two")
	run(command.OK, "login required: nobody has logged in", "run", config, "clerk", "Go", "--session", "three", "--tenant", "acme", "--format", "events")
	run(command.OK, "login required: logins are in the store", "run", config, "clerk", "Go", "--format", "events")
	run(command.OK, "", "explain", config, "clerk", "--format", "json")
	run(command.OK, "", "sessions", "export", config, "one")
	run(command.OK, "Nobody has logged in for tenant acme.", "logout", config, "issues", "--tenant", "acme")
	run(command.OK, "Logged out at "+w.Issuer+" for tenant default. The tokens are revoked.", "logout", config, "issues")
	run(command.OK, "Nobody has logged in for tenant default.", "logout", config, "issues")
	run(command.OK, "login required: nobody has logged in", "run", config, "clerk", "Go", "--session", "four", "--format", "events")
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

// loginKey is a key that may log in for its tenant.
const loginKey = "ark_login-login-login-login"

// TestALoginCountsForARunningServer ends the login of a running server and logs in again: through
// the server, and beside it if the store is shared.
func TestALoginCountsForARunningServer(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(*testing.T) string{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := oauthtest.New(t)
			f := mortal(t, store(t), "  encryption_key: MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n")
			f.change("config.yaml", "agents:", fmt.Sprintf("  issues: {type: mcp, url: %q, auth: {type: oauth_authorization_code}}\nagents:", w.URL))
			f.change("config.yaml", "tenant: acme}]", "tenant: acme}, {id: admin, key: "+loginKey+", tenant: acme, scopes: [\"config:write:own\"]}]")
			f.change("script.yaml", "replies:\n", loginScript[:strings.LastIndex(loginScript, "  - text:")]+"  - {match: login required, text: It failed.}\n")
			run := func(code int, want string, args ...string) {
				t.Helper()
				out, cmd := &browser{world: w}, exec.CommandContext(t.Context(), "runtime", append(args, "--tenant", "acme")...)
				cmd.Env = append(os.Environ(), remote.KeyVariable+"="+loginKey)
				cmd.Dir, cmd.Stdout, cmd.Stderr = f.dir, struct{ io.Writer }{out}, struct{ io.Writer }{out} // without the methods of the buffer
				if _ = cmd.Run(); cmd.ProcessState.ExitCode() != code || !strings.Contains(out.String(), want) {
					t.Errorf("%v ends with %s, want %d with %q:\n%s", args, cmd.ProcessState, code, want, out.String())
				}
			}
			run(command.OK, "Logged in", "login", "config.yaml", "issues")
			s := f.start("127.0.0.1:0")
			call := func(want string) {
				t.Helper()
				var result struct{ Content []struct{ Text string } }
				newTaskClient(t, s.url).ask("tools/call", `{"name":"clerk","arguments":{"message":"Go"}}`, &result)
				if len(result.Content) != 1 || result.Content[0].Text != want {
					t.Errorf("the agent says %+v, want %q", result, want)
				}
			}
			ready := func(want bool) {
				t.Helper()
				text := readURL(t, s.url+"/readyz?verbose")
				if strings.Contains(text, "; 1 must log in, see runtime doctor FILE --mcp issues") != want {
					t.Errorf("readyz says %q", text)
				}
			}
			call("It worked.")
			ready(false)
			w.Revoke(true)
			call("It failed.")
			ready(true)
			run(command.Failed, "run: runtime login FILE issues --tenant acme", "doctor", "config.yaml", "--mcp", "issues")
			if name == "sqlite" {
				for _, verb := range []string{"login", "logout"} {
					run(command.Failed, "use the running server, with a key in RUNTIME_API_KEY: runtime "+verb+" issues --server http://127.0.0.1:8080 --tenant acme", verb, "config.yaml", "issues")
				}
			} else {
				run(command.OK, "Logged in", "login", "config.yaml", "issues")
				call("It worked.")
				run(command.OK, "The tokens are revoked.", "logout", "config.yaml", "issues")
			}
			run(command.Failed, "nobody logged in within 1ms", "login", "issues", "--server", s.url, "--timeout", "1ms")
			run(command.OK, "Logged in at "+w.Issuer+" for tenant acme.", "login", "issues", "--server", s.url)
			call("It worked.")
			ready(false)
			run(command.OK, "The tokens are revoked.", "logout", "issues", "--server", s.url)
			run(command.OK, "Nobody has logged in for tenant acme.", "logout", "issues", "--server", s.url)
			call("It failed.")
			run(command.Failed, "not found", "login", "none", "--server", s.url)
			run(command.Usage, "--server and FILE exclude each other", "login", "config.yaml", "issues", "--server", s.url)
			run(command.Usage, "--file cannot be used with --server", "login", "-f", "config.yaml", "issues", "--server", s.url)
			run(command.OK, "Logged in", "login", "issues", "--server", s.url)
			call("It worked.")
			run(command.OK, "login: at "+w.Issuer+" for tenant acme", "doctor", "config.yaml", "--mcp", "issues")
		})
	}
}

// readURL returns the body of a response.
func readURL(t *testing.T, address string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// change replaces a text in a configuration file.
func (f *serverFleet) change(name, old, text string) {
	f.t.Helper()
	path := filepath.Join(f.dir, name)
	content, err := os.ReadFile(path)
	if err == nil {
		err = os.WriteFile(path, []byte(strings.Replace(string(content), old, text, 1)), 0o600)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}
