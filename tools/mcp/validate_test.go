package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

func TestWhatIsWrongWithAnEntry(t *testing.T) {
	t.Parallel()
	long, zero := strings.Repeat("x", 41), spec.Duration(0)
	at := func(change func(*config)) config {
		c := config{URL: "https://mcp.example/mcp"}
		change(&c)
		return c
	}
	run := func(change func(*config)) config {
		c := config{Command: []string{"server", "--root", "/"}}
		change(&c)
		return c
	}
	for name, tt := range map[string]struct {
		config config
		want   string
	}{
		"a program":            {run(func(c *config) { c.Dir = "/srv"; c.Env = map[string]string{"A": "b"} }), ""},
		"an address":           {at(func(c *config) { c.Headers = map[string]string{"X-Key": "k"} }), ""},
		"neither":              {config{}, "command missing-field"},
		"both":                 {at(func(c *config) { c.Command = []string{"x"} }), "url invalid-value"},
		"an empty program":     {config{Command: []string{" "}}, "command[0] invalid-value"},
		"NUL":                  {run(func(c *config) { c.Command[1], c.Dir, c.Catalog = "\x00", "\x00", "\x00" }), "command[1] invalid-value, dir invalid-value, catalog invalid-value"},
		"variables":            {run(func(c *config) { c.Env = map[string]string{"A=": "", "B": "\x00"} }), "env.A= invalid-value, env.B invalid-value"},
		"headers of a program": {run(func(c *config) { c.Headers, c.Auth = map[string]string{"a": "b"}, &serverAuth{} }), "headers invalid-value, auth invalid-value"},
		"a dir of an address":  {at(func(c *config) { c.Dir, c.Env = "/", map[string]string{"A": "b"} }), "dir invalid-value, env invalid-value"},
		"no URL":               {config{URL: "http://a b"}, "url invalid-value"},
		"another scheme":       {config{URL: "ftp://x.example"}, "url invalid-value"},
		"no host":              {config{URL: "https:///x"}, "url invalid-value"},
		"a port":               {config{URL: "https://x.example:99999"}, "url invalid-value"},
		"a password":           {config{URL: "https://a:b@x.example"}, "url invalid-value"},
		"a fragment":           {config{URL: "https://x.example/#a"}, "url invalid-value"},
		"headers":              {at(func(c *config) { c.Headers = map[string]string{"a b": "", "Accept": "", "C": "\n"} }), "headers.Accept invalid-value, headers.C invalid-value, headers.a b invalid-value"},
		"authorization twice": {at(func(c *config) {
			c.Headers = map[string]string{"authorization": "x"}
			c.Auth = &serverAuth{Type: authBearer, Token: "t"}
		}), "headers.authorization invalid-value"},
		"no token":             {at(func(c *config) { c.Auth = &serverAuth{Type: authBearer} }), "auth.token missing-field"},
		"a token with a space": {at(func(c *config) { c.Auth = &serverAuth{Type: authBearer, Token: "a b"} }), "auth.token invalid-value"},
		"no client":            {at(func(c *config) { c.Auth = &serverAuth{Type: authClientCredentials} }), "auth.client_id missing-field, auth.client_secret missing-field"},
		"no token URL": {at(func(c *config) {
			c.Auth = &serverAuth{Type: authClientCredentials, ClientID: "a", ClientSecret: "b", TokenURL: "x"}
		}), "auth.token_url invalid-value"},
		"another kind of auth": {at(func(c *config) { c.Auth = &serverAuth{Type: "basic"} }), "auth.type invalid-value"},
		"patterns":             {run(func(c *config) { c.Filter = &toolFilter{Allow: []string{"a", "["}, Deny: []string{""}} }), "filter.allow[1] invalid-pattern, filter.deny[0] invalid-pattern"},
		"prefix":               {run(func(c *config) { c.Prefix = &long }), "prefix invalid-value"},
		"times and sizes":      {run(func(c *config) { c.ConnectTimeout, c.Timeout, c.MaxOutput, c.Effect = &zero, &zero, 1, "x" }), "connect_timeout invalid-value, effect invalid-value, timeout invalid-value, max_output invalid-value"},
	} {
		var got []string
		for _, d := range tt.config.Validate() {
			got = append(got, strings.ReplaceAll(strings.ReplaceAll(d.Path, `["`, "."), `"]`, "")+" "+string(d.Code))
		}
		if strings.Join(got, ", ") != tt.want {
			t.Errorf("%s: %s, want %s", name, strings.Join(got, ", "), tt.want)
		}
		if _, err := newTools(tools.Settings{ID: "x"}, &tt.config); (err != nil) != (tt.want != "") {
			t.Errorf("%s: making it gives %v", name, err)
		}
	}
}

func TestSecretsAreNotShown(t *testing.T) {
	t.Parallel()
	c := config{
		Env: map[string]string{"KEY": "s3cr3t"}, Headers: map[string]string{"X-Key": "s3cr3t"},
		Auth: &serverAuth{Type: authBearer, Token: "s3cr3t", ClientSecret: "s3cr3t", ClientID: "me"},
	}
	data, err := json.Marshal(c)
	if err != nil || strings.Contains(string(data), "s3cr3t") || !strings.Contains(string(data), `"me"`) {
		t.Errorf("the record is %s (%v)", data, err)
	}
	if c.Auth.Token != "s3cr3t" || c.Env["KEY"] != "s3cr3t" {
		t.Error("showing the record changed it")
	}
}

func TestAnEntrySaysWhereItsCallsGo(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		config config
		want   string
	}{
		{config{URL: "https://mcp.example/mcp"}, "calls the MCP server at https://mcp.example/mcp"},
		{config{Command: []string{"npx", "-y", "notes"}, Env: map[string]string{"KEY": "s3cret"}}, "calls the MCP server npx -y notes"},
		{config{Command: []string{"notes", "--root", "my notes", ""}}, `calls the MCP server notes --root "my notes" ""`},
	} {
		if got := tt.config.Action(); got != tt.want {
			t.Errorf("%s, want %s", got, tt.want)
		}
	}
}
