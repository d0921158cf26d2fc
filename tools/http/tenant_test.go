package http

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// acme has what one tenant has set.
type acme map[string]tools.TenantValue

func (acme) TenantName() string { return "acme" }

func (a acme) ReadTenantVariable(_ context.Context, name string) (tools.TenantValue, bool, error) {
	if v, ok := a[name]; ok {
		return v, v.Text != "broken", errors.Join(brokenSource(v.Text))
	}
	return tools.TenantValue{}, false, nil
}

func brokenSource(text string) error {
	if text == "broken" {
		return errors.New("the store is gone")
	}
	return nil
}

func plainValue(text string) tools.TenantValue  { return tools.TenantValue{Text: text} }
func secretValue(text string) tools.TenantValue { return tools.TenantValue{Text: text, Secret: true} }

// callFor calls a tool for a tenant.
func callFor(t *testing.T, c config, arguments string, values acme) (tools.Result, error) {
	t.Helper()
	fallback := "EU"
	call := arg(arguments)
	call.Tenant = &tools.TenantVariables{Source: values, Declared: &spec.Tenants{Variables: map[string]spec.TenantVariable{
		"BASE": {}, "HOST": {}, "ACCOUNT": {}, "REGION": {Default: &fallback}, "KEY": {Secret: true}, "OLD": {},
	}}}
	return newTool(t, c).Call(t.Context(), call)
}

func TestVariablesOfTenantsStandInRequests(t *testing.T) {
	base, requests := record(t, nil)
	c := config{
		URL: "${tenant.BASE}/of/${tenant.ACCOUNT}/{{city}}?region=${tenant.REGION}&q={{city}}", Parameters: []byte(`{"type":"object","properties":{"city":{"type":"string"}}}`),
		Headers: map[string]string{"Authorization": "Bearer ${tenant.KEY}", "X-Note": "$${tenant.KEY} ${x}"},
		Query:   map[string]string{"account": "${tenant.ACCOUNT}"},
	}
	// What a value contains is data: neither a placeholder, nor a separator.
	values := acme{"BASE": plainValue(base + "/v1/"), "ACCOUNT": plainValue("a/b {{city}}&c=d?"), "KEY": secretValue("s3cret-of-acme")}
	result, err := callFor(t, c, `{"city":"Bonn"}`, values)
	if err != nil || result.IsError {
		t.Fatal(result, err)
	}
	got := <-requests
	const account = "a%2Fb%20%7B%7Bcity%7D%7D&c=d%3F"
	if want := "/v1/of/" + account + "/Bonn?region=EU&q=Bonn&account=a%2Fb+%7B%7Bcity%7D%7D%26c%3Dd%3F"; got.Target != want {
		t.Errorf("it asked for %s\nwant %s", got.Target, want)
	}
	if got.Header.Get("Authorization") != "Bearer s3cret-of-acme" || got.Header.Get("X-Note") != "${tenant.KEY} ${x}" {
		t.Errorf("the headers are %v", got.Header)
	}
}

func TestVariablesOfTenantsInTheHost(t *testing.T) {
	base, requests := record(t, nil)
	port := base[strings.LastIndexByte(base, ':'):]
	if _, err := callFor(t, config{URL: "http://127.0.0.${tenant.HOST}" + port + "/x"}, `{}`, acme{"HOST": plainValue("1")}); err != nil {
		t.Fatal(err)
	}
	if got := <-requests; got.Target != "/x" {
		t.Error(got.Target)
	}
}

func TestWhatVariablesOfTenantsCannotBe(t *testing.T) {
	base, requests := record(t, nil)
	for name, tt := range map[string]struct {
		config config
		values acme
		want   string
	}{
		"unset":               {config{URL: base + "/${tenant.ACCOUNT}"}, nil, "the tenant variable ACCOUNT is not set"},
		"undeclared":          {config{URL: base + "/${tenant.NONE}"}, nil, "the tenant variable NONE is not declared"},
		"unreadable":          {config{URL: base + "/${tenant.ACCOUNT}"}, acme{"ACCOUNT": plainValue("broken")}, "the tenant variable ACCOUNT cannot be read"},
		"a secret of old":     {config{URL: base + "/${tenant.OLD}"}, acme{"OLD": secretValue("s3cret-of-acme")}, "the tenant variable OLD was set as a secret"},
		"a line break":        {config{URL: base, Headers: map[string]string{"X": "a ${tenant.KEY}"}}, acme{"KEY": secretValue("s3cret\r\nX-Evil: 1")}, "the tenant variable KEY goes into a header"},
		"another path":        {config{URL: base + "/a/${tenant.ACCOUNT}/b"}, acme{"ACCOUNT": plainValue("..")}, "the tenant variable ACCOUNT is used in a path"},
		"a path of two parts": {config{URL: base + "/a/.${tenant.ACCOUNT}/b"}, acme{"ACCOUNT": plainValue(".")}, "the tenant variable ACCOUNT is used in a path"},
		"no path":             {config{URL: base + "/a/${tenant.ACCOUNT}/b"}, acme{"ACCOUNT": plainValue("")}, "the tenant variable ACCOUNT is used in a path"},
		"no url":              {config{URL: "${tenant.BASE}/x"}, acme{"BASE": plainValue("s3cret.example")}, "the tenant variable BASE must be the beginning of a url"},
		"a url with a user":   {config{URL: "${tenant.BASE}/x"}, acme{"BASE": plainValue("http://s3cret@127.0.0.1")}, "the tenant variable BASE must be the beginning of a url"},
		"a url with a query":  {config{URL: "${tenant.BASE}/x"}, acme{"BASE": plainValue("http://127.0.0.1/?s3cret")}, "the tenant variable BASE must be the beginning of a url"},
		"another scheme":      {config{URL: "${tenant.BASE}/x"}, acme{"BASE": plainValue("file:///s3cret")}, "the tenant variable BASE must be the beginning of a url"},
		"another host":        {config{URL: "http://${tenant.HOST}.example/x"}, acme{"HOST": plainValue("s3cret.evil/")}, "the tenant variable HOST must be part of a host's name"},
		"a placeholder":       {config{URL: "${tenant.BASE}/x"}, acme{"BASE": plainValue("http://{{s3cret}}")}, "the tenant variable BASE must be the beginning of a url"},
		"the network here":    {config{URL: "${tenant.BASE}/x", AllowPrivate: []string{"127.0.0.1:1"}}, acme{"BASE": plainValue(base + "/s3cret")}, "call ${tenant.BASE}: it is not a public address"},
		"the metadata":        {config{URL: "http://${tenant.HOST}/s3cret", AllowPrivate: []string{}}, acme{"HOST": plainValue("169.254.169.254")}, "call http://${tenant.HOST}: it is not a public address"},
		"nobody there":        {config{URL: "${tenant.BASE}/x"}, acme{"BASE": plainValue("http://127.0.0.1:1/s3cret")}, "call ${tenant.BASE}: it cannot be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := callFor(t, tt.config, `{}`, tt.values)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("it is %v, want %s", err, tt.want)
			}
			if strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "169.254") {
				t.Errorf("the error shows the value: %v", err)
			}
		})
	}
	if len(requests) > 0 {
		t.Errorf("a request was made: %v", <-requests)
	}
}

// A server repeats what it was sent, in every spelling that it may have.
func TestSecretsOfTenantsAreHiddenInAnswers(t *testing.T) {
	base, _ := record(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("X-Anything")+" "+r.URL.RawQuery+" "+r.URL.Query().Get("q")+" "+r.RequestURI)
	})
	c := config{URL: base + "/${tenant.KEY}?q=${tenant.KEY}", Headers: map[string]string{"X-Anything": "key ${tenant.KEY}"}}
	result, err := callFor(t, c, `{}`, acme{"KEY": secretValue("s3cret of/acme")})
	if err != nil || result.IsError {
		t.Fatal(result, err)
	}
	if shown := result.Content[0].Text; strings.Contains(shown, "s3cret") || !strings.Contains(shown, "key ") {
		t.Errorf("the model reads %s", shown)
	}
}

func TestReferencesToTenantsAreChecked(t *testing.T) {
	for url, want := range map[string]string{
		"${tenant.BASE}x":            "a path must follow",
		"ftp://${tenant.HOST}/":      "url must start with http",
		"http://${tenant.HOST}:x/":   "host of url does not parse",
		"http://u@${tenant.HOST}/":   "user or password",
		"${turn.BASE}/":              "a variable of a turn",
		"http://h.example/${turn.A}": "a variable of a turn",
		"${tenant.BASE}/{{a":         "a placeholder is {{name}}",
	} {
		c := config{URL: url}
		if list := c.Validate(); len(list) != 1 || !strings.Contains(list[0].Message, want) {
			t.Errorf("%s: %v", url, list)
		}
	}
	c := config{URL: "https://${tenant.HOST}.example/${tenant.A}", Headers: map[string]string{"X": "${tenant.KEY}"}, Query: map[string]string{"q": "${tenant.A}"}}
	got := newTool(t, c).TenantReferences()
	want := []tools.TenantReference{{Path: "url", Name: "HOST", Plain: true}, {Path: "url", Name: "A"}, {Path: "query.q", Name: "A"}, {Path: "headers.X", Name: "KEY"}}
	if len(got) != len(want) {
		t.Fatalf("it refers to %v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%d: %v, want %v", i, got[i], want[i])
		}
	}
}
