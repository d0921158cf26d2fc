package mcp

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
	"github.com/google/go-cmp/cmp"
)

// known makes a server whose catalog file lists tools.
func known(t *testing.T, c config, list ...toolInfo) *server {
	t.Helper()
	c.Command = []string{"server"}
	c.Catalog = filepath.Join(t.TempDir(), "c.json")
	if err := writeCatalog(c.Catalog, newCatalog(c.serverFingerprint(&tools.Settings{ID: "fake"}), serverInfo{}, list)); err != nil {
		t.Fatal(err)
	}
	made, err := newTools(tools.Settings{ID: "fake"}, &c)
	if err != nil {
		t.Fatal(err)
	}
	return made.(*server)
}

func info(name string) toolInfo { return toolInfo{Name: name, InputSchema: object} }

func memberIDs(s *server) string {
	members, _ := s.Members()
	ids := make([]string, len(members))
	for i, m := range members {
		ids[i] = m.ID
	}
	return strings.Join(ids, " ")
}

func TestTheToolsOfACatalog(t *testing.T) {
	t.Parallel()
	none, own := "", "own_"
	loop := toolInfo{Name: "b", InputSchema: json.RawMessage(`{"$ref":"https://elsewhere.example/schema"}`)}
	for name, tt := range map[string]struct {
		config config
		list   []toolInfo
		want   string
		found  string
	}{
		"all":                    {config{}, []toolInfo{info("b"), info("a")}, "mcp__fake__a mcp__fake__b", ""},
		"none":                   {config{}, nil, "", ""},
		"no prefix":              {config{Prefix: &none}, []toolInfo{info("a")}, "a", ""},
		"another prefix":         {config{Prefix: &own}, []toolInfo{info("a")}, "own_a", ""},
		"allowed":                {config{Filter: &toolFilter{Allow: []string{"a*", "c"}}}, []toolInfo{info("a"), info("ab"), info("b")}, "mcp__fake__a mcp__fake__ab", ""},
		"denied":                 {config{Filter: &toolFilter{Deny: []string{"*b"}}}, []toolInfo{info("a"), info("ab"), info("b")}, "mcp__fake__a", ""},
		"allowed and denied":     {config{Filter: &toolFilter{Allow: []string{"a*"}, Deny: []string{"*b"}}}, []toolInfo{info("a"), info("ab")}, "mcp__fake__a", ""},
		"nothing is allowed":     {config{Filter: &toolFilter{Allow: []string{}}}, []toolInfo{info("a")}, "", ""},
		"without parameters":     {config{}, []toolInfo{{Name: "a"}}, "mcp__fake__a", ""},
		"twice":                  {config{}, []toolInfo{info("a"), info("a")}, "mcp__fake__a", "warning[duplicate-id]"},
		"no name":                {config{}, []toolInfo{info(""), info("a")}, "mcp__fake__a", "warning[invalid-id]"},
		"a name without end":     {config{}, []toolInfo{info(strings.Repeat("a", 300))}, "", "warning[invalid-id]"},
		"names that look alike":  {config{}, []toolInfo{info("a.b"), info("a/b")}, "mcp__fake__a_b_4b2c6838 mcp__fake__a_b_c9f915d0", ""},
		"one id for two names":   {config{Prefix: &none}, []toolInfo{info("a.b"), info(toolID("", "a.b"))}, toolID("", "a.b"), "error[tool-id-conflict]"},
		"no schema of arguments": {config{}, []toolInfo{info("a"), {Name: "b", InputSchema: json.RawMessage(`{"type":7}`)}}, "mcp__fake__a", "warning[invalid-schema]"},
		"null for empty lists": {config{}, []toolInfo{
			{Name: "a", InputSchema: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"}},"required":null}`)},
			{Name: "b", InputSchema: json.RawMessage(`{"type":"object","properties":null}`)},
		}, "mcp__fake__a mcp__fake__b", ""},
		"arguments as a list":     {config{}, []toolInfo{{Name: "b", InputSchema: json.RawMessage(`{"type":"array"}`)}}, "", "warning[invalid-schema]"},
		"a schema from elsewhere": {config{}, []toolInfo{info("a"), loop}, "mcp__fake__a mcp__fake__b", ""},
		"no schema of results":    {config{}, []toolInfo{{Name: "b", OutputSchema: json.RawMessage(`"x"`)}}, "", "warning[invalid-schema]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := known(t, tt.config, tt.list...)
			_, found := s.Members()
			if got := memberIDs(s); got != tt.want || codes(found) != tt.found {
				t.Errorf("the tools are %s with %v, want %s with %s", got, found, tt.want, tt.found)
			}
		})
	}
}

func TestHintsDecideTheEffectAndOnlyNarrowTheSetting(t *testing.T) {
	t.Parallel()
	readOnly, destructive, idempotent := annotations{ReadOnly: true}, annotations{Destructive: true}, annotations{Idempotent: true}
	for _, tt := range []struct {
		setting tools.Effect
		hints   annotations
		want    tools.Effect
	}{
		{"", annotations{}, tools.Once}, {"", readOnly, tools.Read}, {"", destructive, tools.Once}, {"", idempotent, tools.Idempotent},
		{"", annotations{ReadOnly: true, Destructive: true}, tools.Once},
		{"", annotations{ReadOnly: true, Destructive: true, Idempotent: true}, tools.Idempotent},
		{tools.Read, annotations{}, tools.Read}, {tools.Read, readOnly, tools.Read}, {tools.Read, idempotent, tools.Read},
		{tools.Read, destructive, tools.Once}, {tools.Read, annotations{Destructive: true, Idempotent: true}, tools.Idempotent},
		{tools.Idempotent, readOnly, tools.Idempotent}, {tools.Idempotent, destructive, tools.Idempotent},
		{tools.Once, readOnly, tools.Once}, {tools.Once, idempotent, tools.Once}, {tools.Once, destructive, tools.Once},
	} {
		s := known(t, config{Effect: tt.setting, Timeout: duration(3 * time.Second), Serial: true}, toolInfo{Name: "a", Annotations: tt.hints})
		d := entries(t, s)["mcp__fake__a"].Descriptor
		if d.Effect != tt.want || d.Timeout != 3*time.Second || !d.Serial {
			t.Errorf("effect %q with %+v: the tool is %+v, want %s", tt.setting, tt.hints, d, tt.want)
		}
	}
}

func TestWhyThereIsNoCatalog(t *testing.T) {
	t.Parallel()
	c := config{Command: []string{"server"}, Catalog: filepath.Join(t.TempDir(), "c.json")}
	sound, err := newCatalog(c.serverFingerprint(&tools.Settings{ID: "fake"}), serverInfo{}, []toolInfo{info("a")}).encodeFile()
	if err != nil {
		t.Fatal(err)
	}
	for content, want := range map[string]string{
		"\x00absent":                           "there is no catalog",
		"":                                     "not a JSON object",
		"[]":                                   "not a JSON object",
		"{}":                                   "it is of another version of the format",
		`{"version":2}`:                        "it is of another version of the format",
		`{"version":1,"tools":{}}`:             "a field has a value of another type",
		`{"version":1}`:                        "it was made for other settings of the entry",
		string(sound[:len(sound)/2]):           "not a JSON object",
		strings.Repeat(" ", maxCatalog) + "{}": "it has more than 5242880 bytes",
		`{"version":1,"tools":[` + strings.Repeat(`{"name":"x"},`, maxTools) + `{"name":"x"}]}`: "it lists 513 tools",
	} {
		_ = os.Remove(c.Catalog)
		if content != "\x00absent" {
			if err := os.WriteFile(c.Catalog, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		made, err := newTools(tools.Settings{ID: "fake"}, &c)
		if err != nil {
			t.Fatal(err)
		}
		members, found := made.(tools.Bundle).Members()
		if members != nil || len(found) != 1 || found[0].Code != diag.NoCatalog || found[0].Severity != diag.Warning || !strings.Contains(found[0].Message, want) {
			t.Errorf("%.60q: %v, want %s", content, found, want)
		}
	}
}

func TestACatalogIsTheSameInItsFile(t *testing.T) {
	t.Parallel()
	list := []toolInfo{
		{Name: "b", Description: "<b> & c", InputSchema: json.RawMessage(`{"type": "object",  "properties": {"x": {"const": 12345678901234567890}}}`)},
		{Name: "a", Annotations: annotations{ReadOnly: true}, OutputSchema: json.RawMessage(`null`)},
	}
	name := filepath.Join(t.TempDir(), "deep", "er", "c.json")
	c := newCatalog("print", serverInfo{Name: "s", Version: "1"}, list)
	if err := writeCatalog(name, c); err != nil {
		t.Fatal(err)
	}
	read, err := readCatalog(name, "print")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c, read); diff != "" || !sameTools(c, read) {
		t.Error(diff)
	}
	before, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeCatalog(name, read); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(name); err != nil || !os.SameFile(before, after) {
		t.Error("a file that says the same was written again")
	}
	if left, err := os.ReadDir(filepath.Dir(name)); err != nil || len(left) != 1 {
		t.Errorf("the directory has %v (%v)", left, err)
	}
}

func TestWhatTheFingerprintTellsApart(t *testing.T) {
	t.Parallel()
	base := func() config {
		return config{Command: []string{"a"}, Dir: "/etc/x/srv", Env: map[string]string{"KEY": "1"}}
	}
	here := &tools.Settings{ID: "a", Dir: "/etc/x"}
	first := base()
	want := first.serverFingerprint(here)
	for name, change := range map[string]func(*config) *tools.Settings{
		"a secret": func(c *config) *tools.Settings { c.Env["KEY"] = "2"; return here },
		"what is shown": func(c *config) *tools.Settings {
			c.MaxOutput = 300
			c.Filter = &toolFilter{Deny: []string{"x"}}
			return here
		},
		"where it stands": func(c *config) *tools.Settings { c.Dir = "../x/srv"; return &tools.Settings{ID: "a", Dir: "../x"} },
	} {
		c := base()
		if s := change(&c); c.serverFingerprint(s) != want {
			t.Errorf("%s changes the fingerprint", name)
		}
	}
	for name, change := range map[string]func(*config){
		"the command": func(c *config) { c.Command = []string{"a", "b"} },
		"the dir":     func(c *config) { c.Dir = "/srv" },
		"a variable":  func(c *config) { c.Env["MORE"] = "1" },
		"the url":     func(c *config) { c.URL = "https://x.example" },
		"the client":  func(c *config) { c.Auth = &serverAuth{Type: authClientCredentials, ClientID: "me"} },
	} {
		c := base()
		if change(&c); c.serverFingerprint(here) == want {
			t.Errorf("%s does not change the fingerprint", name)
		}
	}
}

func FuzzDecodeCatalog(f *testing.F) {
	sound, err := newCatalog("print", serverInfo{Name: "s"}, []toolInfo{info("a"), {Name: "b.c", Description: "d\x00"}}).encodeFile()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sound)
	f.Add([]byte(`{"version":1,"tools":[{"name":"a","inputSchema":{"$ref":"#"}},null]}`))
	f.Add([]byte(`{"version":1,"tools":[{"inputSchema":[1,{}]}]}`))
	s := &server{id: "fake", filter: &filter{all: true}}
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := decodeCatalog(data)
		if err != nil {
			return
		}
		for i := range c.Tools {
			if d := c.Tools[i].Description; len(d) > maxDescription || !utf8.ValidString(d) {
				t.Errorf("the description is %q", d)
			}
		}
		members, _ := s.expandCatalog(c)
		for _, m := range members {
			if entry, list := toolset.Compile(m.ID, m.Tool, toolset.Source{}); entry == nil {
				t.Errorf("the tool %q is unsound: %v", m.ID, list)
			}
		}
		again, err := c.encodeFile()
		if err != nil {
			return // it has grown too large by its indentation
		}
		read, err := decodeCatalog(again)
		if err != nil {
			t.Fatal(err)
		}
		third, err := read.encodeFile()
		if err != nil || !bytes.Equal(again, third) {
			t.Errorf("%s becomes %s (%v)", again, third, err)
		}
	})
}
