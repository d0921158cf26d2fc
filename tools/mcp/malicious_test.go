package mcp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAMaliciousListIsBounded(t *testing.T) {
	t.Parallel()
	many := strings.TrimSuffix(strings.Repeat(`{"name":"x"},`, 100_000), ",")
	deep := strings.Repeat(`{"items":`, 800) + "{}" + strings.Repeat("}", 800)
	for name, tt := range map[string]struct{ list, tools, problem string }{
		"a description of 10 MB":   {`{"tools":[{"name":"a","description":"` + strings.Repeat("x", 10<<20) + `","inputSchema":{"type":"object"}},{"name":"b"}]}`, "mcp__fake__a mcp__fake__b", ""},
		"a schema of 10 MB":        {`{"tools":[{"name":"a","inputSchema":{"type":"object","description":"` + strings.Repeat("x", 10<<20) + `"}},{"name":"b"}]}`, "mcp__fake__b", ""},
		"a deep schema":            {`{"tools":[{"name":"a","inputSchema":` + deep + `},{"name":"b"}]}`, "mcp__fake__b", ""},
		"a schema of 1,600 levels": {`{"tools":[{"name":"a","inputSchema":` + strings.ReplaceAll(deep, "{}", deep) + `},{"name":"b"}]}`, "", "maximum nesting depth"},
		"100,000 tools":            {`{"tools":[` + many + `]}`, "", "it lists more than 512 tools"},
		"a cursor without end":     {`{"tools":[{"name":"a"}],"nextCursor":"again"}`, "", "a cursor is repeated"},
		"escape sequences":         {`{"tools":[{"name":"a\u001b[2J\u202e","description":"\u001b]0;owned\u0007 x"}]}`, toolID("mcp__fake__", "a\x1b[2J\u202e"), ""},
		"a name without end":       {`{"tools":[{"name":"` + strings.Repeat("a", 1<<20) + `"},{"name":"b"}]}`, "mcp__fake__b", ""},
		"a tool that is a task":    {`{"tools":[{"name":"a","execution":{"taskSupport":"required"},"_meta":{"x":1}},{"name":"b","execution":{"taskSupport":"optional"}}]}`, "mcp__fake__b", ""},
		"regular expression bomb":  {`{"tools":[{"name":"a","inputSchema":{"type":"object","properties":{"q":{"type":"string","pattern":"(a{1000}){1000}"}}}},{"name":"b"}]}`, "mcp__fake__b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			script := filepath.Join(t.TempDir(), "script")
			if err := os.WriteFile(script, []byte("tools/list "+tt.list), 0o600); err != nil {
				t.Fatal(err)
			}
			s := start(t, local(t, "@"+script))
			err := s.Refresh(t.Context())
			if tt.problem != "" {
				if err == nil || !strings.Contains(err.Error(), tt.problem) {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := memberIDs(s); got != tt.tools {
				t.Errorf("the tools are %.200s", got)
			}
			members, found := s.Members()
			for _, m := range members {
				if d := m.Tool.Descriptor(); len(d.Description) > maxDescription || strings.ContainsAny(d.Description+m.ID, "\x1b\x07\u202e") {
					t.Errorf("%s is described as %.100q", m.ID, d.Description)
				}
			}
			for _, d := range found {
				if strings.ContainsAny(d.Message, "\x1b\u202e") || len(d.Message) > 2*maxError {
					t.Errorf("the diagnostic is %.200q", d.Message)
				}
			}
		})
	}
}

func TestIDsEchoedAsStrings(t *testing.T) {
	t.Parallel()
	s := ready(t, local(t, "ids text\n"+lists("a", "Reads.")))
	if got := succeed(t, s, "a", `{}`); got != "done" {
		t.Errorf("the call says %q", got)
	}
}
