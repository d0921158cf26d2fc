package http

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/tools"
	"github.com/google/go-cmp/cmp"
)

func TestArgumentsAreEscapedForWhereTheyStandInTheURL(t *testing.T) {
	t.Parallel()
	base, requests := record(t, nil)
	for _, tt := range []struct {
		url   string // after the host
		query map[string]string
		args  string
		want  string // the request's target
	}{
		{"", nil, `{}`, "/"},
		{"?a=1", nil, `{}`, "/?a=1"},
		{"/w?q={{city}}", nil, `{"city":"Paris"}`, "/w?q=Paris"},
		{"/w?q={{ city }}", nil, `{"city":"Paris"}`, "/w?q=Paris"},
		{"/w?q={{city}}", nil, `{"city":"São Paulo & co=1#x?y/z+%41;"}`, "/w?q=S%C3%A3o+Paulo+%26+co%3D1%23x%3Fy%2Fz%2B%2541%3B"},
		{"/w?q={{city}}&unit=c", nil, `{"city":"x&unit=f"}`, "/w?q=x%26unit%3Df&unit=c"},
		{"/u/{{id}}/posts", nil, `{"id":"a b"}`, "/u/a%20b/posts"},
		{"/u/{{id}}/posts", nil, `{"id":"a/b"}`, "/u/a%2Fb/posts"},
		{"/u/{{id}}/posts", nil, `{"id":"a?b=c#d"}`, "/u/a%3Fb=c%23d/posts"},
		{"/u/{{id}}/posts", nil, `{"id":"%2e%2e"}`, "/u/%252e%252e/posts"},
		{"/u/{{id}}/posts", nil, `{"id":"a;b=c"}`, "/u/a%3Bb=c/posts"},
		{"/u/{{id}}/posts", nil, `{"id":"a\r\nX: y\u0000"}`, "/u/a%0D%0AX:%20y%00/posts"},
		{"/u/{{id}}/posts", nil, `{"id":"...a"}`, "/u/...a/posts"},
		{"/u/{{id}}.json", nil, `{"id":"."}`, "/u/..json"},
		{"/u/@{{id}}:{{id}}", nil, `{"id":"é"}`, "/u/@%C3%A9:%C3%A9"},
		{"/ä b/[x]?ö=[y] z", nil, `{}`, "/%C3%A4%20b/%5Bx%5D?%C3%B6=%5By%5D%20z"},
		{"/a%2Fb?c=%26", nil, `{}`, "/a%2Fb?c=%26"},
		{"//x", nil, `{}`, "//x"},

		{"/n?x={{x}}", nil, `{"x":1000000}`, "/n?x=1000000"},
		{"/n?x={{x}}", nil, `{"x":12345678901234567890}`, "/n?x=12345678901234567890"},
		{"/n?x={{x}}", nil, `{"x":0.1}`, "/n?x=0.1"},
		{"/n?x={{x}}", nil, `{"x":-1.50}`, "/n?x=-1.50"},
		{"/n/{{x}}", nil, `{"x":true}`, "/n/true"},
		{"/n?x={{x}}", nil, `{"x":[1, "a b"]}`, "/n?x=%5B1%2C%22a+b%22%5D"},
		{"/n?x={{x}}", nil, `{"x":{"a" : null}}`, "/n?x=%7B%22a%22%3Anull%7D"},

		{"/m/{{x}}/y", nil, `{}`, "/m//y"},
		{"/m/{{x}}", nil, `{"x":null}`, "/m/"},
		{"/m?a={{x}}&b=2", nil, `{}`, "/m?b=2"},
		{"/m?a={{x}}", nil, `{"x":null}`, "/m"},
		{"/m?a={{x}}", nil, `{"x":""}`, "/m?a="},
		{"/m?a=p{{x}}", nil, `{}`, "/m?a=p"},
		{"/m?a={{x}}{{y}}", nil, `{}`, "/m?a="},
		{"/m?flag&&a={{x}}", nil, `{"x":1}`, "/m?flag&a=1"},

		{"/q?z=0", map[string]string{"b": "{{x}}", "a": "1 2", "c&d": "=&{{x}}"}, `{"x":"é&"}`, "/q?z=0&a=1+2&b=%C3%A9%26&c%26d=%3D%26%C3%A9%26"},
		{"/q", map[string]string{"a": "{{x}}", "b": "2"}, `{}`, "/q?b=2"},
		{"/q", map[string]string{"a": "{{x}}"}, `{}`, "/q"},
		{"/q", map[string]string{"a": "100%"}, `{}`, "/q?a=100%25"},
	} {
		tl := newTool(t, config{URL: base + tt.url, Query: tt.query})
		if got := text(t, tl, tt.args); got != "ok" {
			t.Errorf("%s with %s: result is %q", tt.url, tt.args, got)
		}
		got := <-requests
		if got.Target != tt.want {
			t.Errorf("%s with %s\n got %s\nwant %s", tt.url, tt.args, got.Target, tt.want)
		}
		if got.Method != http.MethodGet || got.Body != "" {
			t.Errorf("%s: request is %s with body %q", tt.url, got.Method, got.Body)
		}
	}
}

func TestArgumentsCannotLeaveTheirPath(t *testing.T) {
	t.Parallel()
	base, requests := record(t, nil)
	for _, tt := range []struct{ path, args string }{
		{"/u/{{id}}/x", `{"id":".."}`},
		{"/u/{{id}}/x", `{"id":"."}`},
		{"/u/{{id}}", `{"id":"../admin"}`},
		{"/u/{{id}}", `{"id":"a/../../admin"}`},
		{"/u/{{id}}", `{"id":"a\\..\\admin"}`},
		{"/u/{{id}}", `{"id":"/.."}`},
		{"/u/{{id}}", `{"id":"..;x"}`},
		{"/u/{{id}}{{id}}", `{"id":"."}`},
		{"/u/.{{id}}", `{"id":"."}`},
		{"/u/%2e{{id}}", `{"id":"."}`},
		{"/u/{{id}}/x", `{"id":""}`},
		{"/u/{{id}}", `{"id":""}`},
	} {
		tl := newTool(t, config{Method: "DELETE", URL: base + tt.path})
		got := refusal(t, tl, tt.args)
		contains(t, got, "tool_input_invalid", "argument id", "path")
	}
	if n := len(requests); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	base, requests := record(t, nil)
	tl := newTool(t, config{URL: base, Headers: map[string]string{
		"authorization": "Bearer {{token}}", "X-Fixed": "a\tb", "X-Optional": "{{none}}", "X-Half": "v{{none}}",
		"X-Data": "{{data}}", "User-Agent": "me",
	}})
	text(t, tl, `{"token":"t:1, é","data":{"a": 1}}`)
	h := (<-requests).Header
	for name, want := range map[string]string{
		"Authorization": "Bearer t:1, é", "X-Fixed": "a\tb", "X-Half": "v", "X-Data": `{"a":1}`, "User-Agent": "me",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	for _, name := range []string{"X-Optional", "Idempotency-Key", "Content-Type", "Cookie", "Referer"} {
		if got, ok := h[name]; ok {
			t.Errorf("%s was sent: %q", name, got)
		}
	}
	for _, bad := range []string{"a\r\nX-Evil: 1", "a\nb", "a\x00", "a\x7f", "\r"} {
		contains(t, refusal(t, tl, `{"token":`+quote(bad)+`}`), "argument token", "header Authorization")
	}
	if n := len(requests); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}

func TestBody(t *testing.T) {
	t.Parallel()
	const evil = `x","admin":true,"y":"</a>&b=1` + "\n\\\u2028é"
	base, requests := record(t, nil)
	form := map[string]string{"Content-Type": "application/x-www-form-urlencoded"}
	for _, tt := range []struct {
		name    string
		method  string
		url     string
		headers map[string]string
		body    string
		args    string
		typ     string
		want    string
	}{
		{"rest", "POST", "/{{id}}", nil, ``, `{"id":1,"b":"<&>","a":[1, 2],"n":null}`, "application/json", `{"a":[1,2],"b":"<&>","n":null}`},
		{"rest of nothing", "PUT", "/{{id}}", nil, ``, `{"id":1}`, "application/json", `{}`},
		{"rest without arguments", "PATCH", "/", nil, ``, ``, "application/json", `{}`},
		{"rest, header used", "POST", "/", map[string]string{"X-A": "{{a}}"}, ``, `{"a":1,"b":2}`, "application/json", `{"b":2}`},
		{"rest, another JSON", "POST", "/", map[string]string{"content-type": "application/vnd.x+json"}, ``, `{"a":1}`, "application/vnd.x+json", `{"a":1}`},
		{"none", "POST", "/", nil, `null`, `{"a":1}`, "", ``},
		{"empty", "POST", "/", nil, `""`, `{"a":1}`, "", ``},
		{"DELETE", "DELETE", "/", nil, ``, `{"a":1}`, "", ``},
		{"DELETE with body", "DELETE", "/", nil, `{"a":"{{a}}"}`, `{"a":1}`, "application/json", `{"a":1}`},

		{"structure", "POST", "/", nil, `{"q": "{{q}}", "k": [1, "v{{q}}", true]}`, `{"q":"Paris"}`, "application/json", `{"q":"Paris","k":[1,"vParis",true]}`},
		{"structure, types kept", "POST", "/", nil, `{"a":"{{ a }}","b":["{{b}}"],"c":"{{c}}","d":"n={{a}}"}`, `{"a":10,"b":{"x":[1, 2]},"c":false}`, "application/json", `{"a":10,"b":[{"x":[1,2]}],"c":false,"d":"n=10"}`},
		{"structure, missing", "POST", "/", nil, `{"a":"{{a}}","b":"<{{a}}>"}`, `{}`, "application/json", `{"a":null,"b":"<>"}`},
		{"structure, object in a string", "POST", "/", nil, `{"a":"is {{a}}"}`, `{"a":{"b": "\""}}`, "application/json", `{"a":"is {\"b\":\"\\\"\"}"}`},
		{"structure, evil", "POST", "/", nil, `{"a":"{{a}}","b":" {{a}}"}`, `{"a":` + quote(evil) + `}`, "application/json", ``},
		{"structure, quotes around", "POST", "/", nil, `{"a":"\"{{a}}\"","b":"\\{{a}}"}`, `{"a":"x"}`, "application/json", `{"a":"\"x\"","b":"\\x"}`},
		{"structure, two", "POST", "/", nil, `["{{a}}{{b}}"]`, `{"a":"x","b":1}`, "application/json", `["x1"]`},
		{"structure, escaped braces", "POST", "/", nil, `["\u007b{a}}"]`, `{}`, "application/json", `["\u007b{a}}"]`},
		{"structure, empty object", "POST", "/", nil, `{"a":{"b":{}}}`, `{}`, "application/json", `{"a":{"b":{}}}`},
		{"scalar", "POST", "/", nil, `5`, `{}`, "application/json", `5`},

		{"text, quoted", "POST", "/", nil, quote(`{"a": "{{a}}"}`), `{"a":5}`, "application/json", `{"a": "5"}`},
		{"text, bare", "POST", "/", nil, quote(`{"a": {{a}}, "b": {{b}}}`), `{"a":[1, 2]}`, "application/json", `{"a": [1,2], "b": null}`},
		{"text, bare string", "POST", "/", nil, quote(`{{a}}`), `{"a":"x\"y"}`, "application/json", `"x\"y"`},
		{"text, evil", "POST", "/", nil, quote(`{"a":"{{a}}","b": {{a}} }`), `{"a":` + quote(evil) + `}`, "application/json", ``},

		{"form", "POST", "/", form, quote(`a={{a}}&b=1`), `{"a":"x&b=2 +"}`, "application/x-www-form-urlencoded", `a=x%26b%3D2+%2B&b=1`},
		{"plain", "POST", "/", map[string]string{"Content-Type": "text/plain; charset=utf-8"}, quote(`say {{a}}`), `{"a":"<\"&\">"}`, "text/plain; charset=utf-8", `say <"&">`},
		{"xml", "POST", "/", map[string]string{"Content-Type": "application/soap+xml"}, quote(`<a b="{{a}}">{{a}}</a>`), `{"a":"\"><x/>&"}`, "application/soap+xml", `<a b="&#34;&gt;&lt;x/&gt;&amp;">&#34;&gt;&lt;x/&gt;&amp;</a>`},
	} {
		var body json.RawMessage
		if tt.body != "" {
			body = json.RawMessage(tt.body)
		}
		tl := newTool(t, config{Method: tt.method, URL: base + tt.url, Headers: tt.headers, Body: body})
		text(t, tl, tt.args)
		got := <-requests
		if got.Method != tt.method || got.Header.Get("Content-Type") != tt.typ {
			t.Errorf("%s: request is %s of type %q, want %s of %q", tt.name, got.Method, got.Header.Get("Content-Type"), tt.method, tt.typ)
		}
		if strings.HasSuffix(tt.name, "evil") {
			var members map[string]string
			if err := json.Unmarshal([]byte(got.Body), &members); err != nil {
				t.Errorf("%s: body %s: %v", tt.name, got.Body, err)
			}
			if len(members) != 2 || members["a"] != evil || strings.TrimPrefix(members["b"], " ") != evil {
				t.Errorf("%s: body has become %s", tt.name, got.Body)
			}
			continue
		}
		if diff := cmp.Diff(tt.want, got.Body); diff != "" {
			t.Errorf("%s: body (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	base, requests := record(t, nil)
	for _, tt := range []struct {
		config config
		key    string
		want   string
	}{
		{config{Method: "POST"}, "k1", "k1"},
		{config{Method: "DELETE", Effect: tools.Idempotent}, "k1", "k1"},
		{config{Method: "POST", Effect: tools.Read}, "k1", ""},
		{config{Method: "GET"}, "k1", ""},
		{config{Method: "GET", Effect: tools.Once}, "k1", "k1"},
		{config{Method: "POST"}, "", ""},
		{config{Method: "POST"}, "a\r\nb", ""},
		{config{Method: "POST", Headers: map[string]string{"idempotency-key": "mine"}}, "k1", "mine"},
		{config{Method: "POST", Headers: map[string]string{"Idempotency-Key": "{{key}}"}}, "k1", "k1"},
	} {
		tt.config.URL = base
		call := arg(`{}`)
		call.IdempotencyKey = tt.key
		result, err := newTool(t, tt.config).Call(t.Context(), call)
		if err != nil || result.IsError {
			t.Fatal(err, result)
		}
		if got := (<-requests).Header.Values("Idempotency-Key"); strings.Join(got, ",") != tt.want {
			t.Errorf("%s %s with key %q: header is %q, want %q", tt.config.Method, tt.config.Effect, tt.key, got, tt.want)
		}
	}
}

func TestMalformedArgumentsAreTheModelsMistake(t *testing.T) {
	t.Parallel()
	base, requests := record(t, nil)
	tl := newTool(t, config{URL: base})
	for _, args := range []string{`[]`, `"x"`, `{`, `3`} {
		contains(t, refusal(t, tl, args), "tool_input_invalid")
	}
	if n := len(requests); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
}
