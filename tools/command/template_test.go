//go:build unix

package command

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
)

// parametersOf is a schema with a property for each name; those that begin with
// '!' are required.
func parametersOf(names ...string) json.RawMessage {
	properties, required := map[string]any{}, []string{}
	for _, name := range names {
		plain := strings.TrimPrefix(name, "!")
		properties[plain] = map[string]any{}
		if plain != name {
			required = append(required, plain)
		}
	}
	raw, err := json.Marshal(map[string]any{"type": "object", "properties": properties, "required": required})
	if err != nil {
		panic(err)
	}
	return raw
}

// argv runs a program that prints its arguments and returns them.
func argv(t *testing.T, c config, arguments string) []string {
	t.Helper()
	c.Command = append([]string{"/bin/sh", "-c", `for a; do printf '%s\036' "$a"; done`, "sh"}, c.Command...)
	printed := text(t, c, arguments)
	if printed == "[no output]" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(printed, "\x1e"), "\x1e")
}

func TestAnElementOfTheCommandIsOneArgument(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, arguments string
		command, want   []string
	}{
		{"text", `{"a":"x y"}`, []string{"{{a}}"}, []string{"x y"}},
		{"nothing a shell knows", `{"a":"$(id) ; ` + "`id`" + ` * | > ' \" \\ \n"}`, []string{"{{a}}"}, []string{"$(id) ; `id` * | > ' \" \\ \n"}},
		{"braces in a value", `{"a":"{{b}}","b":"no"}`, []string{"{{a}}"}, []string{"{{b}}"}},
		{"within an element", `{"r":"x -y"}`, []string{"--max={{r}}", "<{{ r }}>"}, []string{"--max=x -y", "<x -y>"}},
		{"twice", `{"r":1}`, []string{"{{r}}{{r}}", "{{r}}"}, []string{"11", "1"}},
		{"empty text", `{"a":""}`, []string{"x", "{{a}}"}, []string{"x", ""}},
		{"empty element", `{}`, []string{"", "x"}, []string{"", "x"}},
		{"absent", `{}`, []string{"x", "{{a}}", "--max={{a}}", "-n{{a}}", "y"}, []string{"x", "y"}},
		{"null", `{"a":null}`, []string{"x", "{{a}}"}, []string{"x"}},
		{"whole numbers", `{"a":1e3}`, []string{"{{a}}"}, []string{"1000"}},
		{"a fraction of zeros", `{"a":12.50}`, []string{"{{a}}"}, []string{"12.5"}},
		{"digits are kept", `{"a":12345678901234567890.000000000000000000001}`, []string{"{{a}}"}, []string{"12345678901234567890.000000000000000000001"}},
		{"minus zero", `{"a":-0.0}`, []string{"{{a}}"}, []string{"0"}},
		{"booleans", `{"a":true,"b":false}`, []string{"{{a}}", "{{b}}"}, []string{"true", "false"}},
		{"lists and objects", `{"a":[1, "x"], "b":{"k": [ ]}}`, []string{"{{a}}", "{{b}}"}, []string{`[1,"x"]`, `{"k":[]}`}},
		{"other text", `{"a":"\ud83d\ude00ü\t"}`, []string{"{{a}}"}, []string{"😀ü\t"}},
		{"no placeholder", `{"a":1}`, []string{"{", "}", "{a}", "{a:{b:1}}", "{{{{json .}}}}"}, []string{"{", "}", "{a}", "{a:{b:1}}", "{{json .}}"}},
		{"after --", `{"a":"-rf","b":"--help"}`, []string{"-x", "--", "{{a}}", "{{b}}"}, []string{"-x", "--", "-rf", "--help"}},
		{"after an option's name", `{"a":"-rf"}`, []string{"--name={{a}}", "x{{a}}y", "-n{{a}}"}, []string{"--name=-rf", "x-rfy", "-n-rf"}},
	} {
		c := config{Description: "d", Command: tt.command, Parameters: parametersOf("a", "b", "!r")}
		if strings.Contains(strings.Join(tt.command, ""), "x{{a}}") {
			c.Parameters = parametersOf("!a")
		}
		if got := argv(t, c, tt.arguments); !slices.Equal(got, tt.want) {
			t.Errorf("%s: the program is given %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestStandardInputHasTheArgumentsToo(t *testing.T) {
	t.Parallel()
	c := config{Description: "d", Command: []string{"/bin/sh", "-c", `printf '%s ' "$1"; cat`, "sh", "{{a}}"}, Parameters: parametersOf("a", "b")}
	if got, want := text(t, c, `{"a":1,"b":2}`), "1 {\"a\":1,\"b\":2}\n"; got != want {
		t.Errorf("the program is given %q, want %q", got, want)
	}
}

func TestArgumentsThatNoElementCanTakeReachNoProgram(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, arguments, want string
		command, allow        []string
	}{
		{"an option", `{"a":"-rf"}`, "option", []string{"{{a}}"}, nil},
		{"an option of several", `{"a":"-","b":"rf"}`, "option", []string{"{{a}}{{b}}"}, nil},
		{"an option after nothing", `{"a":"","b":"-rf"}`, "option", []string{"{{a}}{{b}}"}, nil},
		{"an option before a suffix", `{"a":"-rf"}`, "option", []string{"{{a}}.txt"}, nil},
		{"a hyphen", `{"a":"-"}`, "option", []string{"{{a}}"}, nil},
		{"two hyphens", `{"a":"--","b":"-rf"}`, "option", []string{"{{a}}", "{{b}}"}, nil},
		{"a negative number", `{"a":-5}`, "option", []string{"{{a}}"}, nil},
		{"an option of another program", `{"a":"-rf"}`, "option", []string{"exec", "--", "rm", "{{a}}"}, nil},
		{"one may, another may not", `{"a":"-x","b":"-rf"}`, "argument b", []string{"{{a}}", "{{b}}"}, []string{"a"}},
		{"NUL", `{"a":"x\u0000y"}`, "NUL", []string{"{{a}}"}, nil},
		{"NUL in an option's value", `{"a":"x\u0000y"}`, "NUL", []string{"--x={{a}}"}, nil},
		{"a large number", `{"a":1e999999999}`, "too large", []string{"{{a}}"}, nil},
		{"a small number", `{"a":1e-999999999}`, "too small", []string{"{{a}}"}, nil},
		{"a long text", `{"a":"` + strings.Repeat("x", 200_000) + `"}`, "too long", []string{"{{a}}"}, nil},
		{"no object", `[]`, "not a JSON object", []string{"{{a}}"}, nil},
	} {
		c := config{Description: "d", Command: append([]string{"echo"}, tt.command...), Parameters: parametersOf("!a", "!b"), AllowDash: tt.allow}
		if got := failure(t, c, tt.arguments); !strings.HasPrefix(got, "tool_input_invalid: ") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: the result is %q, want one about %q", tt.name, got, tt.want)
		}
	}
}

func TestAllowDash(t *testing.T) {
	t.Parallel()
	c := config{Description: "d", Command: []string{"-n", "{{n}}", "{{n}}{{n}}"}, Parameters: parametersOf("!n"), AllowDash: []string{"n"}}
	if got := argv(t, c, `{"n":-5}`); !slices.Equal(got, []string{"-n", "-5", "-5-5"}) {
		t.Errorf("the program is given %q", got)
	}
}

func TestMistakesInPlaceholders(t *testing.T) {
	t.Parallel()
	const hidden = "hunter2"
	optional := json.RawMessage(`{"type":"object","properties":{"pattern":{},"path":{}},"required":["pattern"]}`)
	for _, tt := range []struct {
		command    []string
		parameters json.RawMessage
		allow      []string
		want       string // "path: part of the message and hint", "" is valid
	}{
		{[]string{"grep", "{{pattern}}"}, optional, nil, ""},
		{[]string{"grep", "{{patern}}"}, optional, nil, `command[1]: did you mean {{pattern}}?`},
		{[]string{"grep", "{{zzzzzz}}"}, optional, nil, `command[1]: does not declare`},
		{[]string{"grep", "{{pattern}}"}, nil, nil, `command[1]: does not declare`},
		{[]string{"grep", "{{pattern}}"}, json.RawMessage(`{"type":"object"}`), nil, `command[1]: does not declare`},
		{[]string{"grep", "{{pattern}}"}, json.RawMessage(`{"$ref":"#/$defs/x"}`), nil, ""},
		{[]string{"grep", hidden + "{{pattern}"}, optional, nil, `command[1]: a placeholder is {{name}}`},
		{[]string{"grep", hidden + "{{}}"}, optional, nil, `command[1]: a placeholder is {{name}}`},
		{[]string{"grep", hidden + "{{a b}}"}, optional, nil, `command[1]: a placeholder is {{name}}`},
		{[]string{"grep", hidden + "{{{pattern}}}"}, optional, nil, `command[1]: a placeholder is {{name}}`},
		{[]string{"grep", hidden + "{{json .}}"}, optional, nil, `command[1]: write {{{{ and }}}}`},
		{[]string{"grep", hidden + "pattern}}"}, optional, nil, `command[1]: no {{ before`},
		{[]string{"grep", hidden + "{pattern}}"}, optional, nil, `command[1]: no {{ before`},
		{[]string{"grep", hidden + "{{pattern}}}}"}, optional, nil, `command[1]: no {{ before`},
		{[]string{"grep", hidden + "{{pattern}} }}"}, optional, nil, `command[1]: no {{ before`},
		{[]string{"{{pattern}}"}, optional, nil, "command[0]: program"},
		{[]string{"bin/{{pattern}}"}, optional, nil, "command[0]: program"},
		{[]string{"ls", "dir/{{path}}"}, optional, nil, "command[1]: add path to parameters.required"},
		{[]string{"ls", "{{path}}.txt"}, optional, nil, "command[1]: add path to parameters.required"},
		{[]string{"ls", "--dir=/srv/{{path}}"}, optional, nil, "command[1]: add path to parameters.required"},
		{[]string{"ls", "--dir={{path}}", "-d{{path}}"}, optional, nil, ""},
		{[]string{"head", "-n", "{{path}}", "x"}, optional, nil, "command[2]: as one element"},
		{[]string{"head", "-n", "{{pattern}}", "x"}, optional, nil, ""},
		{[]string{"ls", "-l", "--", "{{path}}"}, optional, nil, ""},
		{[]string{"ls", "--color=no", "{{path}}"}, optional, nil, ""},
		{[]string{"grep", "{{pattern}}"}, optional, []string{"pattern"}, ""},
		{[]string{"grep", "{{pattern}}"}, optional, []string{"patern"}, `allow_dash[0]: did you mean "pattern"?`},
		{[]string{"grep", "{{pattern}}"}, optional, []string{"path"}, `allow_dash[0]: no placeholder`},
		{[]string{"sh", "-c", "grep {{pattern}} x"}, optional, nil, "command[2]: interpreter"},
		{[]string{"/bin/bash", "-o", "pipefail", "-euc", "{{pattern}}"}, optional, nil, "command[4]: interpreter"},
		{[]string{"env", "A=1", "sh", "-c", "-x", "{{pattern}}"}, optional, nil, "command[5]: interpreter"},
		{[]string{"python3.12", "-c", "print('{{pattern}}')"}, optional, nil, "command[2]: interpreter"},
		{[]string{"node", "--eval={{pattern}}"}, optional, nil, "command[1]: interpreter"},
		{[]string{"perl", "-ne", "/{{pattern}}/"}, optional, nil, "command[2]: interpreter"},
		{[]string{"awk", "-F", ",", "/{{pattern}}/"}, optional, nil, "command[3]: interpreter"},
		{[]string{"awk", "-v", "p={{pattern}}", "$0 ~ p"}, optional, nil, ""},
		{[]string{"sh", "-c", `grep "$1" x`, "sh", "{{pattern}}"}, optional, nil, ""},
		{[]string{"python3", "tool.py", "-c", "{{pattern}}"}, optional, nil, ""},
		{[]string{"grep", "-c", "{{pattern}}"}, optional, nil, ""},
	} {
		c := &config{Description: "d", Command: tt.command, Parameters: tt.parameters, AllowDash: tt.allow}
		list := c.Validate()
		if tt.want == "" {
			if len(list) != 0 {
				t.Errorf("%q: diagnostics are %v", tt.command, list)
			}
			continue
		}
		place, part, _ := strings.Cut(tt.want, ": ")
		if len(list) != 1 || list[0].Code != diag.InvalidValue || list[0].Path != place || !strings.Contains(list[0].Message+" "+list[0].Hint, part) {
			t.Errorf("%q: diagnostics are %v, want one at %s about %q", tt.command, list, place, part)
		}
		if strings.Contains(list.Err().Error(), hidden) {
			t.Errorf("%q: the diagnostic repeats the element: %v", tt.command, list)
		}
	}
}

// FuzzElement checks that whatever a value is, it changes nothing but its own
// element, and never is an option of its own.
func FuzzElement(f *testing.F) {
	for _, seed := range []string{"", "a b", "-rf", "--", "{{b}}", "\x00", "$(id)", "a\nb", "'\""} {
		f.Add(seed, "x{{a}}", seed)
		f.Add(seed, "{{a}}{{b}}", seed)
	}
	f.Fuzz(func(t *testing.T, a, text, b string) {
		c := &config{Command: []string{"p", "first", text, "{{b}}", "last"}, Parameters: parametersOf("!a", "!b")}
		line, list := c.compileCommand()
		if list.HasErrors() {
			return
		}
		arguments, err := json.Marshal(map[string]string{"a": a, "b": b})
		if err != nil {
			t.Skip(err)
		}
		words, err := line.renderElements(arguments)
		if err != nil {
			return
		}
		if len(words) != 4 || words[0] != "first" || words[3] != "last" {
			t.Fatalf("%q with %q, %q gives %q", text, a, b, words)
		}
		if strings.HasPrefix(words[2], "-") && text != "--" {
			t.Errorf("%q with %q, %q gives the option %q", text, a, b, words[2])
		}
		if strings.HasPrefix(words[1], "-") && strings.HasPrefix(text, "{{") && !strings.HasPrefix(text, "{{{{") {
			t.Errorf("%q with %q, %q gives the option %q", text, a, b, words[1])
		}
	})
}

func TestNumbersWithManyDigitsAreRejected(t *testing.T) {
	t.Parallel()
	for number, want := range map[string]string{
		strings.Repeat("9", 1<<20): "too many digits", "1e999999999": "too large", "1e-999999999": "too small", "1." + strings.Repeat("0", 1<<20): "too many digits",
	} {
		if _, err := plainNumber("n", number); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %v", number, err)
		}
	}
}
