package http

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
	"github.com/google/go-cmp/cmp"
)

var cityParameters = json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"unit":{"type":"string"}}}`)

func TestValidateReportsEveryMistakeAtItsPlace(t *testing.T) {
	t.Parallel()
	zero := spec.Duration(0)
	for _, tt := range []struct {
		name   string
		change func(c *config)
		want   []string // "code path: part of the message"
	}{
		{"nothing", func(*config) {}, nil},
		{"description", func(c *config) { c.Description = "" }, nil},
		{"method", func(c *config) { c.Method = "get" }, []string{"invalid-value method: allowed are GET"}},
		{"effect", func(c *config) { c.Effect = "twice" }, []string{"invalid-value effect: allowed are read"}},
		{"timeout", func(c *config) { c.Timeout = &zero }, []string{"invalid-value timeout: more than 0"}},
		{"too little output", func(c *config) { c.MaxOutput = 1 }, []string{"invalid-value max_output: from 256"}},
		{"too much output", func(c *config) { c.MaxOutput = 1<<20 + 1 }, []string{"invalid-value max_output: to 1048576"}},
		{"no url", func(c *config) { c.URL = "" }, []string{"missing-field url: missing"}},
		{"scheme", func(c *config) { c.URL = "ftp://x.example/" }, []string{"invalid-value url: http://"}},
		{"no scheme", func(c *config) { c.URL = "x.example/{{city}}" }, []string{"invalid-value url: http://"}},
		{"placeholder as scheme", func(c *config) { c.URL = "{{city}}://x.example" }, []string{"invalid-value url: http://"}},
		{"placeholder as url", func(c *config) { c.URL = "{{city}}" }, []string{"invalid-value url: http://"}},
		{"placeholder as host", func(c *config) { c.URL = "https://{{city}}/x" }, []string{"invalid-value url: must not appear in the host"}},
		{"placeholder in host", func(c *config) { c.URL = "https://a.{{city}}.example" }, []string{"invalid-value url: must not appear in the host"}},
		{"placeholder after host", func(c *config) { c.URL = "https://a.example{{city}}" }, []string{"invalid-value url: must not appear in the host"}},
		{"placeholder after host and query", func(c *config) { c.URL = "https://a.example{{city}}?x=1" }, []string{"invalid-value url: must not appear in the host"}},
		{"placeholder as port", func(c *config) { c.URL = "https://a.example:{{city}}/" }, []string{"invalid-value url: must not appear in the host"}},
		{"placeholder as user", func(c *config) { c.URL = "https://{{city}}@a.example/" }, []string{"invalid-value url: must not appear in the host"}},
		{"placeholder across host", func(c *config) { c.URL = "https://a{{ci/ty}}" }, []string{"invalid-value url: must not appear in the host"}},
		{"user", func(c *config) { c.URL = "https://me:hunter2@a.example/" }, []string{"invalid-value url: use headers"}},
		{"empty user", func(c *config) { c.URL = "https://@a.example/" }, []string{"invalid-value url: use headers"}},
		{"no host", func(c *config) { c.URL = "https:///x" }, []string{"invalid-value url: no host"}},
		{"port alone", func(c *config) { c.URL = "https://:80/x" }, []string{"invalid-value url: no host"}},
		{"empty port", func(c *config) { c.URL = "https://a.example:/x" }, []string{"invalid-value url: empty port"}},
		{"large port", func(c *config) { c.URL = "https://a.example:65536/x" }, []string{"invalid-value url: 65535"}},
		{"odd host", func(c *config) { c.URL = `https://a.example\b/x` }, []string{"invalid-value url: does not parse"}},
		{"space in host", func(c *config) { c.URL = "https://a b/x" }, []string{"invalid-value url: does not parse"}},
		{"fragment", func(c *config) { c.URL = "https://a.example/x#{{city}}" }, []string{"invalid-value url: fragment"}},
		{"dots", func(c *config) { c.URL = "https://a.example/x/../y" }, []string{"invalid-value url: must not have"}},
		{"escaped dots", func(c *config) { c.URL = "https://a.example/x/%2E./y" }, []string{"invalid-value url: must not have"}},
		{"escape", func(c *config) { c.URL = "https://a.example/100%/y" }, []string{"invalid-value url: %25"}},
		{"open placeholder", func(c *config) { c.URL = "https://a.example/{{city" }, []string{"invalid-value url: {{name}}"}},
		{"empty placeholder", func(c *config) { c.URL = "https://a.example/{{}}" }, []string{"invalid-value url: {{name}}"}},
		{"odd placeholder", func(c *config) { c.URL = "https://a.example/?q={{ci ty}}" }, []string{"invalid-value url: {{name}}"}},
		{"placeholder as parameter", func(c *config) { c.URL = "https://a.example/?{{city}}" }, []string{"invalid-value url: value of a query"}},
		{"placeholder as name", func(c *config) { c.URL = "https://a.example/?a{{city}}=1" }, []string{"invalid-value url: value of a query"}},
		{"undeclared in path", func(c *config) { c.URL = "https://a.example/{{town}}" }, []string{"invalid-value url: {{town}}"}},
		{"misspelled in query", func(c *config) { c.URL = "https://a.example/?q={{citi}}" }, []string{"invalid-value url: {{citi}}"}},
		{"undeclared everywhere", func(c *config) {
			c.Method = "POST"
			c.URL = "https://a.example/{{b1}}?a={{a1}}"
			c.Query = map[string]string{"q": "{{q1}}"}
			c.Headers = map[string]string{"X-H": "{{h1}}"}
			c.Body = json.RawMessage(`{"x":"{{x1}}"}`)
		}, []string{
			"invalid-value url: {{a1}}", "invalid-value url: {{b1}}", "invalid-value query.q: {{q1}}",
			"invalid-value headers.X-H: {{h1}}", "invalid-value body: {{x1}}",
		}},
		{"no parameters", func(c *config) { c.Parameters = nil; c.URL = "https://a.example/{{city}}" }, []string{"invalid-value url: {{city}}"}},
		{"no properties", func(c *config) {
			c.Parameters = json.RawMessage(`{"type":"object"}`)
			c.URL = "https://a.example/{{anything}}"
		}, nil},
		{"broken schema", func(c *config) { c.Parameters = json.RawMessage(`[`); c.URL = "https://a.example/{{city}}" }, nil},
		{"query name", func(c *config) { c.Query = map[string]string{"a{{city}}": "1"} }, []string{`invalid-value query["a{{city}}"]: value of a query`}},
		{"query value", func(c *config) { c.Query = map[string]string{"a": "{{"} }, []string{"invalid-value query.a: {{name}}"}},
		{"header name", func(c *config) { c.Headers = map[string]string{"X H": "1", "": "2"} }, []string{
			`invalid-value headers[""]: invalid header name`, `invalid-value headers["X H"]: invalid header name`,
		}},
		{"header value", func(c *config) { c.Headers = map[string]string{"X-H": "a\r\nHost: b"} }, []string{"invalid-value headers.X-H: line break"}},
		{"header twice", func(c *config) { c.Headers = map[string]string{"X-H": "1", "x-h": "2"} }, []string{"invalid-value headers.x-h: twice"}},
		{"own header", func(c *config) { c.Headers = map[string]string{"host": "b", "Content-Length": "0"} }, []string{
			"invalid-value headers.Content-Length: itself", "invalid-value headers.host: itself",
		}},
		{"open placeholder in header", func(c *config) { c.Headers = map[string]string{"X-H": "{{hunter2"} }, []string{"invalid-value headers.X-H: {{name}}"}},
		{"chosen content type", func(c *config) { c.Headers = map[string]string{"Content-Type": "{{city}}"} }, []string{"invalid-value headers.Content-Type: decides"}},
		{"broken content type", func(c *config) {
			c.Method, c.Headers = "POST", map[string]string{"content-type": "a/b/c"}
		}, []string{"invalid-value headers.content-type: invalid content type"}},
		{"body of GET", func(c *config) { c.Body = json.RawMessage(`"x"`) }, []string{"invalid-value body: GET"}},
		{"text that is no JSON", func(c *config) { c.Method, c.Body = "POST", json.RawMessage(`"a={{city}}"`) }, []string{"invalid-value body: Content-Type"}},
		{"placeholder as key", func(c *config) { c.Method, c.Body = "POST", json.RawMessage(`{"{{city}}":1}`) }, []string{"invalid-value body: key"}},
		{"placeholder in key", func(c *config) { c.Method, c.Body = "POST", json.RawMessage(`{"a":{"x{{city}}":1}}`) }, []string{"invalid-value body: key"}},
		{"placeholder in key of text", func(c *config) { c.Method, c.Body = "POST", json.RawMessage(`"{\"{{city}}\" : 1}"`) }, []string{"invalid-value body: key"}},
		{"numbers glued together", func(c *config) { c.Method, c.Body = "POST", json.RawMessage(`"[1{{city}}]"`) }, []string{"invalid-value body: not JSON"}},
		{"half an escape", func(c *config) { c.Method, c.Body = "POST", json.RawMessage(`"\"\\u{{city}}\""`) }, []string{"invalid-value body: not JSON"}},
		{"structure that is no JSON", func(c *config) {
			c.Method, c.Body, c.Headers = "POST", json.RawMessage(`{}`), map[string]string{"Content-Type": "text/plain"}
		}, []string{"invalid-value body: must be a string"}},
		{"arguments as a form", func(c *config) {
			c.Method, c.Headers = "POST", map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
		}, []string{"invalid-value body: write a body"}},
		{"unknown format", func(c *config) {
			c.Method, c.Body = "POST", json.RawMessage(`"{{city}}"`)
			c.Headers = map[string]string{"Content-Type": "multipart/form-data; boundary=x"}
		}, []string{"invalid-value body: cannot be escaped"}},
		{"literal body of unknown format", func(c *config) {
			c.Method, c.Body = "POST", json.RawMessage(`"--x--"`)
			c.Headers = map[string]string{"Content-Type": "multipart/form-data; boundary=x"}
		}, nil},
		{"allow list", func(c *config) { c.AllowPrivate = []string{"ok.example", "http://x", "10.0.0.1/8"} }, []string{
			"invalid-value allow_private[1]: URL", "invalid-value allow_private[2]: 10.0.0.0/8",
		}},
		{"private address", func(c *config) { c.URL = "http://10.0.0.1/x" }, []string{"invalid-value url: allow_private"}},
		{"loopback name", func(c *config) { c.URL = "http://LocalHost:8080/x" }, []string{"invalid-value url: allow_private"}},
		{"loopback name on another port", func(c *config) {
			c.URL, c.AllowPrivate = "http://localhost:8080/x", []string{"localhost:80"}
		}, []string{"invalid-value url: allow_private"}},
		{"allowed loopback name", func(c *config) {
			c.URL, c.AllowPrivate = "http://localhost/x", []string{"localhost:80"}
		}, nil},
		{"half of a loopback name", func(c *config) { c.URL, c.AllowPrivate = "http://localhost/x", []string{"::1"} }, nil},
		{"allowed address", func(c *config) { c.URL, c.AllowPrivate = "https://[fd00::1]/x", []string{"fd00::/8"} }, nil},
		{"public address", func(c *config) { c.URL = "https://1.1.1.1/x" }, nil},
	} {
		c := &config{Description: "d", URL: "https://a.example/", Parameters: cityParameters}
		tt.change(c)
		list := c.Validate()
		var got []string
		for _, d := range list {
			got = append(got, string(d.Code)+" "+d.Path+": "+d.Message)
			if strings.Contains(d.Error(), "hunter2") {
				t.Errorf("%s: the diagnostic repeats a secret: %v", tt.name, d)
			}
		}
		if len(got) != len(tt.want) {
			t.Errorf("%s: diagnostics are %q, want %q", tt.name, got, tt.want)
			continue
		}
		for i := range got {
			place, part, _ := strings.Cut(tt.want[i], ": ")
			if !strings.HasPrefix(got[i], place+": ") || !strings.Contains(got[i], part) {
				t.Errorf("%s: diagnostic %d is %q, want %q", tt.name, i, got[i], tt.want[i])
			}
		}
		if _, err := Kind().Create(tools.Settings{}, c); (err != nil) != list.HasErrors() {
			t.Errorf("%s: Create gives %v, Validate %v", tt.name, err, list)
		}
	}
}

func TestValidateOffersTheNearestParameter(t *testing.T) {
	t.Parallel()
	c := config{Description: "d", URL: "https://a.example/?q={{citi}}", Parameters: cityParameters}
	if got, want := c.Validate()[0].Hint, "did you mean {{city}}?"; got != want {
		t.Errorf("hint is %q, want %q", got, want)
	}
}

func TestDescriptor(t *testing.T) {
	t.Parallel()
	second := spec.Duration(time.Second)
	for _, tt := range []struct {
		config config
		want   tools.Descriptor
	}{
		{config{}, tools.Descriptor{Effect: tools.Read, Timeout: tools.DefaultTimeout}},
		{config{Method: "HEAD"}, tools.Descriptor{Effect: tools.Read, Timeout: tools.DefaultTimeout}},
		{config{Method: "POST"}, tools.Descriptor{Effect: tools.Once, Timeout: tools.DefaultTimeout}},
		{config{Method: "DELETE"}, tools.Descriptor{Effect: tools.Once, Timeout: tools.DefaultTimeout}},
		{
			config{Method: "PUT", Effect: tools.Idempotent, Timeout: &second, Serial: true},
			tools.Descriptor{Effect: tools.Idempotent, Timeout: time.Second, Serial: true},
		},
		{config{Effect: tools.Once}, tools.Descriptor{Effect: tools.Once, Timeout: tools.DefaultTimeout}},
	} {
		tt.config.Description, tt.config.URL, tt.config.Parameters = "d", "https://a.example", cityParameters
		tt.want.Description, tt.want.Parameters = "d", cityParameters
		made, err := Kind().Create(tools.Settings{}, &tt.config)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, made.Descriptor()); diff != "" {
			t.Errorf("descriptor (-want +got):\n%s", diff)
		}
		if _, list := toolset.Compile("test", made, toolset.Source{Kind: toolset.SourceGlobal}); list.HasErrors() {
			t.Errorf("the tool does not compile: %v", list)
		}
	}
}

func TestMarshalJSONHidesSecrets(t *testing.T) {
	t.Parallel()
	c := config{
		Description: "d", URL: "https://a.example/?code=hunter2&city={{city}}",
		Headers: map[string]string{"Authorization": "Bearer hunter2"},
		Query:   map[string]string{"key": "hunter2", "units": "{{units}}"},
	}
	for _, v := range []any{c, &c, map[string]any{"tool": &c}} {
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(out), "hunter2") {
			t.Errorf("the record shows a secret: %s", out)
		}
		contains(t, string(out), "Authorization", "key", "{{units}}", "?code=***\\u0026city={{city}}")
		contains(t, c.Action(), "?code=***")
	}
	before, _ := c.Fingerprint()
	changed := c
	changed.URL = "https://a.example/?code=hunter2&city=Oslo"
	if after, _ := changed.Fingerprint(); string(before) == string(after) {
		t.Error("another URL is the same definition")
	}
	if c.Headers["Authorization"] != "Bearer hunter2" {
		t.Error("showing the record changed it")
	}
}

func TestKind(t *testing.T) {
	t.Parallel()
	kind := Kind()
	if kind.Type != "http" || kind.Summary == "" {
		t.Errorf("kind is %q: %q", kind.Type, kind.Summary)
	}
	if _, ok := kind.NewConfig().(interface{ Validate() diag.List }); !ok {
		t.Error("the record cannot be validated")
	}
}
