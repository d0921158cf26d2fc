package http

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/tools"
)

// FuzzAddress checks that whatever an argument is, the request goes where the
// template says: same host, as many segments, no parameter more.
func FuzzAddress(f *testing.F) {
	f.Add("https://a.example/x/{{v}}/y?q={{v}}&r=1", "Paris")
	f.Add("https://a.example/{{v}}{{v}}", ".")
	f.Add("https://a.example/{{v}}", "../..")
	f.Add("http://[::1]:80/a%2F{{v}}?{{v}}", "a&b=c#d")
	f.Add("https://{{v}}@a.example:{{v}}/", "evil.example/")
	f.Add("https://a.example?x={{v}}", "\r\nHost: evil")
	f.Add("https://a.example?={{w}}", "left out")
	f.Add("https://a.example?x={{v}}", "\xff\xfe")
	f.Fuzz(func(t *testing.T, template, value string) {
		a, err := parseAddress(template)
		if err != nil {
			return
		}
		raw, err := json.Marshal(map[string]string{"v": value})
		if err != nil {
			t.Fatal(err)
		}
		args, err := decodeArguments(raw)
		if err != nil {
			t.Fatal(err)
		}
		path, query, err := a.renderURL(args, nil)
		if err != nil {
			return
		}
		sent := sentParams(a, args)
		u := checkTarget(t, a, sent, path, query)
		// The argument arrives as it was given: raw has no invalid UTF-8 any more.
		var given struct{ V string }
		if err := json.Unmarshal(raw, &given); err != nil {
			t.Fatal(err)
		}
		for i, p := range sent {
			_, arrived, _ := strings.Cut(strings.Split(u.RawQuery, "&")[i], "=")
			if got, err := url.QueryUnescape(arrived); p.value.onlyName() == "v" && (err != nil || got != given.V) {
				t.Errorf("query argument %q arrives as %q", given.V, got)
			}
		}
	})
}

// sentParams returns the parameters that a request has: one that is nothing but
// an argument is left out when the call has no such argument.
func sentParams(a *address, args tools.Arguments) []param {
	return slices.DeleteFunc(slices.Clone(a.query), func(p param) bool {
		return p.value.onlyName() != "" && !args.Has(p.value.onlyName())
	})
}

func checkTarget(t *testing.T, a *address, sent []param, path, query string) *url.URL {
	t.Helper()
	full := a.base + path
	if query != "" {
		full += "?" + query
	}
	u, err := url.Parse(full)
	if err != nil {
		t.Fatalf("%q does not parse: %v", full, err)
	}
	if u.Hostname() != a.host || u.Port() != a.port || u.User != nil || u.Fragment != "" {
		t.Errorf("%q goes to %s, want %s", full, u.Host, a.host)
	}
	if got, want := strings.Count(u.EscapedPath(), "/"), len(a.segments); got != want {
		t.Errorf("%q has %d segments, want %d", full, got, want)
	}
	if u.EscapedPath() != path {
		t.Errorf("path %q would be sent as %q", path, u.EscapedPath())
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if segment == "." || segment == ".." {
			t.Errorf("%q has a dot segment", full)
		}
	}
	params := 0
	if u.RawQuery != "" {
		params = 1 + strings.Count(u.RawQuery, "&")
	}
	if params != len(sent) {
		t.Errorf("%q has %d parameters, want %d", full, params, len(sent))
	}
	for _, c := range []byte(path + query) {
		if c <= ' ' || c >= 0x7f {
			t.Errorf("%q has byte %#x as it is", full, c)
		}
	}
	return u
}

// FuzzJSONBody checks that a body stays the JSON that its template is,
// whatever an argument is.
func FuzzJSONBody(f *testing.F) {
	f.Add(`{"a":"{{v}}","b":{{v}},"c":["x{{v}}"]}`, `"quote"`, false)
	f.Add(`{"a":"{{v}}","b":"\"{{v}}\\"}`, `{"$ne":null}`, true)
	f.Add(`"\\{{v}}"`, `","admin":true`, false)
	f.Fuzz(func(t *testing.T, template, value string, structure bool) {
		parse := func() (*body, error) { return parseJSON(template, false) }
		if structure {
			if !json.Valid([]byte(template)) {
				return
			}
			parse = func() (*body, error) { return parseStructure(json.RawMessage(template)) }
		}
		b, err := parse()
		if err != nil {
			return
		}
		shape := shapeOf(t, b, `{}`)
		encoded, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []string{string(encoded), `12.50`, `[1, {"x": "]"}]`, `{"a":{"b":"}"}}`, `true`} {
			if got := shapeOf(t, b, `{"v":`+v+`}`); got != shape {
				t.Errorf("%s with %s: the shape is %s, was %s", template, v, got, shape)
			}
		}
	})
}

// shapeOf renders a body and returns the keys of its objects, down to where the
// placeholders may stand.
func shapeOf(t *testing.T, b *body, arguments string) string {
	t.Helper()
	args, err := decodeArguments(json.RawMessage(arguments))
	if err != nil {
		t.Fatal(err)
	}
	out, err := b.renderBody(args, nil)
	if err != nil {
		t.Fatalf("render with %s: %v", arguments, err)
	}
	if !json.Valid(out) {
		t.Fatalf("the body with %s is no JSON: %s", arguments, out)
	}
	var top map[string]json.RawMessage
	if json.Unmarshal(out, &top) != nil || b.pieces[0].name != "" {
		return "no object"
	}
	keys, err := json.Marshal(len(top))
	if err != nil {
		t.Fatal(err)
	}
	return string(keys)
}

func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{"", "a", "{{a}}", "x{{ a.b-c }}y{{d}}", "{{", "}}", "{{{a}}}", "{{a}}}}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := parseTemplate(text)
		if err != nil {
			if !strings.Contains(text, "{{") {
				t.Errorf("%q has no placeholder and is refused", text)
			}
			return
		}
		var back strings.Builder
		for _, p := range parsed {
			if p.name != "" {
				back.WriteString("{{" + p.name + "}}")
			}
			back.WriteString(p.literal)
		}
		again, err := parseTemplate(back.String())
		if err != nil || len(again) != len(parsed) {
			t.Errorf("%q becomes %q, which becomes %v, %v", text, back.String(), again, err)
		}
	})
}
