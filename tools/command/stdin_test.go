//go:build unix

package command

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
)

func TestStdinIsTheConfiguredText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ stdin, arguments, want string }{
		{"{{a}}", `{"a":"x\ny"}`, "x\ny"},
		{"{{a}}", `{"a":"-rf\u0001"}`, "-rf\u0001"},
		{"{{a}}", `{"a":"{{b}}","b":"no"}`, "{{b}}"},
		{"{{a}}", `{"a":1e3}`, "1000"},
		{"{{a}}", `{"a":[1, 2]}`, "[1,2]"},
		{"{{a}}", `{}`, "[no output]"},
		{"{{a}}", `{"a":null}`, "[no output]"},
		{"{{a}} of {{b}}\n", `{"a":1,"b":"x"}`, "1 of x\n"},
		{"as it is", `{"a":1}`, "as it is"},
		{"{{{{}}}}", `{}`, "{{}}"},
		{"", `{"a":1}`, "[no output]"},
	} {
		c := config{Description: "d", Command: []string{"cat"}, Stdin: &tt.stdin, Parameters: parametersOf("a", "b")}
		if strings.Contains(tt.stdin, " of ") {
			c.Parameters = parametersOf("!a", "!b")
		}
		if got := text(t, c, tt.arguments); got != tt.want {
			t.Errorf("stdin %q with %s is %q, want %q", tt.stdin, tt.arguments, got, tt.want)
		}
	}
	both := "{{a}}{{b}}"
	c := config{Description: "d", Command: []string{"cat"}, Stdin: &both, Parameters: parametersOf("!a", "!b")}
	if got := failure(t, c, `{"a":1}`); got != "tool_input_invalid: argument b is required" {
		t.Errorf("without b the result is %q", got)
	}
	if got := failure(t, c, `[`); !strings.HasPrefix(got, "tool_input_invalid: ") {
		t.Errorf("invalid arguments give %q", got)
	}
}

func TestStdinMayHaveNULCharacters(t *testing.T) {
	t.Parallel()
	stdin := "{{a}}"
	c := config{Description: "d", Command: []string{"wc", "-c"}, Stdin: &stdin, Parameters: parametersOf("!a")}
	if got := strings.TrimSpace(text(t, c, `{"a":"x\u0000y"}`)); got != "3" {
		t.Errorf("the program reads %s bytes, want 3", got)
	}
}

func TestWordsOfTheTextAreCounted(t *testing.T) {
	t.Parallel()
	stdin := "{{text}}"
	c := config{Description: "d", Command: []string{"wc", "-w"}, Stdin: &stdin, Parameters: parametersOf("!text")}
	for words, want := range map[string]string{"": "0", " ": "0", "three little words": "3", `a "quoted: word"`: "3"} {
		arguments, err := json.Marshal(map[string]string{"text": words})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.TrimSpace(text(t, c, string(arguments))); got != want {
			t.Errorf("%q has %s words, want %s", words, got, want)
		}
	}
}

func TestMistakesInStdin(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		command []string
		stdin   string
		want    string // a part of message and hint, "" is valid
	}{
		{[]string{"cat"}, "{{need}}{{need}}", ""},
		{[]string{"cat"}, "{{may}}", ""},
		{[]string{"cat"}, "{{may}}\n", "add may to parameters.required"},
		{[]string{"cat"}, "{{neeed}}", "did you mean {{need}}?"},
		{[]string{"cat"}, "{{need}", "a placeholder is {{name}}"},
		{[]string{"cat"}, "{{a b}}", "write {{{{ and }}}}"},
		{[]string{"sh"}, "echo hello", ""},
		{[]string{"sh"}, "echo {{need}}", "code that an interpreter runs"},
		{[]string{"/bin/bash", "-eu"}, "{{need}}", "code that an interpreter runs"},
		{[]string{"bash", "-s", "x"}, "{{need}}", "code that an interpreter runs"},
		{[]string{"env", "-i", "A=1", "python3", "-"}, "{{need}}", "code that an interpreter runs"},
		{[]string{"python3", "-m", "json.tool"}, "{{need}}", ""},
		{[]string{"sh", "-c", "cat"}, "{{need}}", ""},
		{[]string{"node", "count.js"}, "{{need}}", ""},
		{[]string{"awk", "{print NF}"}, "{{need}}", ""},
	} {
		c := &config{Description: "d", Command: tt.command, Stdin: &tt.stdin, Parameters: parametersOf("!need", "may")}
		list := c.Validate()
		if tt.want == "" {
			if len(list) != 0 {
				t.Errorf("%q with stdin %q: diagnostics are %v", tt.command, tt.stdin, list)
			}
			continue
		}
		if len(list) != 1 || list[0].Code != diag.InvalidValue || list[0].Path != "stdin" || !strings.Contains(list[0].Message+" "+list[0].Hint, tt.want) {
			t.Errorf("%q with stdin %q: diagnostics are %v, want one about %q", tt.command, tt.stdin, list, tt.want)
		}
	}
}
