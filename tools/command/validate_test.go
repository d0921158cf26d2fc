package command

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
		{"no command", func(c *config) { c.Command = nil }, []string{"missing-field command: missing"}},
		{"empty command", func(c *config) { c.Command = []string{} }, []string{"missing-field command: missing"}},
		{"a shell's pipe", func(c *config) { c.Command = []string{"cat", "x", "|", "wc"} }, []string{"invalid-value command[2]: without a shell"}},
		{"a whole line", func(c *config) { c.Command = []string{"wc -w"} }, []string{"invalid-value command[0]: spaces"}},
		{"a path with spaces", func(c *config) { c.Command = []string{"./my tool"} }, nil},
		{"expr", func(c *config) { c.Command = []string{"expr", "a", "|", "b"} }, nil},
		{"blank program", func(c *config) { c.Command = []string{" "} }, []string{"invalid-value command[0]: empty"}},
		{"empty argument", func(c *config) { c.Command = []string{"wc", ""} }, nil},
		{"NUL", func(c *config) { c.Command = []string{"wc", "a\x00b"} }, []string{"invalid-value command[1]: NUL"}},
		{"dir", func(c *config) { c.Dir = "a\x00" }, []string{"invalid-value dir: NUL"}},
		{"missing dir", func(c *config) { c.Dir = "/does/not/exist" }, nil},
		{"missing program", func(c *config) { c.Command = []string{"no-such-program-here"} }, nil},
		{"env", func(c *config) {
			c.Env = map[string]string{"A": "1", "": "hunter2", "A=B": "hunter2", "C": "hunter2\x00"}
		}, []string{`invalid-value env[""]: name`, `invalid-value env["A=B"]: name`, "invalid-value env.C: NUL"}},
		{"timeout", func(c *config) { c.Timeout = &zero }, []string{"invalid-value timeout: more than 0"}},
		{"effect", func(c *config) { c.Effect = "never" }, []string{"invalid-value effect: allowed are"}},
		{"output", func(c *config) { c.MaxOutput = -1 }, []string{"invalid-value max_output: from 256 to 1048576"}},
		{"everything", func(c *config) { *c = config{Effect: "x", MaxOutput: 1} }, []string{
			"missing-field command: ", "invalid-value effect: ", "invalid-value max_output: ",
		}},
	} {
		c := &config{Description: "d", Command: []string{"wc", "-w"}}
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

func TestDescriptor(t *testing.T) {
	t.Parallel()
	second := spec.Duration(time.Second)
	parameters := json.RawMessage(`{"type":"object"}`)
	for _, tt := range []struct {
		config config
		want   tools.Descriptor
	}{
		{config{}, tools.Descriptor{Effect: tools.Once, Timeout: tools.DefaultTimeout}},
		{
			config{Effect: tools.Read, Timeout: &second, Serial: true, Parameters: parameters},
			tools.Descriptor{Effect: tools.Read, Timeout: time.Second, Serial: true, Parameters: parameters},
		},
	} {
		tt.config.Description, tt.config.Command = "d", []string{"wc"}
		tt.want.Description = "d"
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
	c := config{Command: []string{"wc"}, Env: map[string]string{"API_KEY": "hunter2"}}
	for _, v := range []any{c, &c} {
		out, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(out), "hunter2") || !strings.Contains(string(out), "API_KEY") {
			t.Errorf("the record is shown as %s", out)
		}
	}
	if c.Env["API_KEY"] != "hunter2" {
		t.Error("showing the record changed it")
	}
}

func TestKind(t *testing.T) {
	t.Parallel()
	kind := Kind()
	if kind.Type != "command" || kind.Summary == "" {
		t.Errorf("kind is %q: %q", kind.Type, kind.Summary)
	}
	if _, ok := kind.NewConfig().(interface{ Validate() diag.List }); !ok {
		t.Error("the record cannot be validated")
	}
}
