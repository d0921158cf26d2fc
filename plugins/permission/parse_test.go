package permission_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/plugins/permission"
)

func TestParseRule(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"wc", "wc"},
		{"  wc\t", "wc"},
		{"mcp__*", "mcp__*"},
		{"{read,write}_file", "{read,write}_file"},
		{"/^read_/", "/^read_/"},
		{`/a\/b\(/`, `/a\/b\(/`},
		{"/^(read|write)_/ ( * )", "/^(read|write)_/(*)"},
		{"wc(*)", "wc(*)"},
		{"bash(rm *)", "bash(rm *)"},
		{"bash ( rm * )", "bash(rm *)"},
		{"bash(echo (a (b)) *)", "bash(echo (a (b)) *)"},
		{`bash(echo \) *)`, `bash(echo \) *)`},
		{`bash(git commit -m "x")`, `bash(git commit -m "x")`},
		{`bash(FOO\=1 npm *)`, `bash(FOO\=1 npm *)`},
		{"edit(src/*.go)", "edit(src/*.go)"},
		{"mcp:a/read(**)", "mcp:a/read(**)"},
		{`t(a~"x*")`, `t(a ~ "x*")`},
		{`t( a = "x" , b.c =~ "^y" )`, `t(a = "x", b.c =~ "^y")`},
		{`t(a !~ "x", b != "y", c !=~ "z")`, `t(a !~ "x", b != "y", c !=~ "z")`},
		{`t(my-field = "x")`, `t(my-field = "x")`},
		{`t(a[0].b[*].*.c[12] = "x")`, `t(a[0].b[*].*.c[12] = "x")`},
		{`t(* = "x")`, `t(* = "x")`},
		{`t(a = "say \"hi\" \\ \n")`, `t(a = "say \"hi\" \\ \\n")`},
		{`t(a = "b) , (c")`, `t(a = "b) , (c")`},
		{`t(a = "")`, `t(a = "")`},
		{`t(a[00] = "x")`, `t(a[0] = "x")`},
		{"wörter(ä*)", "wörter(ä*)"},
	} {
		rule, err := permission.ParseRule(tt.text)
		if err != nil {
			t.Errorf("ParseRule(%q): %v", tt.text, err)
			continue
		}
		if rule.String() != tt.want {
			t.Errorf("ParseRule(%q) = %s, want %s", tt.text, rule, tt.want)
		}
	}
}

func TestParseRuleErrors(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text   string
		column int
		want   string
	}{
		{"", 1, "the rule is empty"},
		{" \t", 1, "the rule is empty"},
		{"\xff", 1, "no valid UTF-8"},
		{strings.Repeat("a", 20_000), 1, "the rule has 20000 bytes; at most 16384 are allowed"},
		{"(x)", 1, "a tool must stand ahead"},
		{"wc)", 3, "the parenthesis closes none"},
		{"wc x", 4, `"x" follows the tool`},
		{"wc(", 3, "the parenthesis is not closed"},
		{"wc()", 3, "the parentheses are empty"},
		{"wc( )", 3, "the parentheses are empty"},
		{"wc(*) x", 7, `"x" follows the closing parenthesis`},
		{"wc(a) ü", 7, `"ü" follows the closing parenthesis`},
		{"wc(*))", 6, `")" follows the closing parenthesis`},
		{"bash(echo (a *)", 5, "the parenthesis is not closed"},
		{`bash(a\)`, 5, "the parenthesis is not closed"},
		{"/abc", 1, "not closed by a '/'"},
		{`/abc\/`, 1, "not closed by a '/'"},
		{"//", 1, "the regular expression is empty"},
		{"/(/", 1, "the regular expression is invalid: error parsing regexp: missing closing ): `(`"},
		{"[a", 1, "the pattern does not compile"},
		{`a\`, 1, `ends in a single '\'`},
		{"bash([a)", 6, "the pattern does not compile"},
		{`t(a = x)`, 7, `a value in double quotes must follow =; to match the text itself, write \=`},
		{`t(a == "x")`, 6, "a value in double quotes must follow ="},
		{`t(a ~= "x")`, 6, "a value in double quotes must follow ~"},
		{"bash(FOO=1 npm *)", 10, "a value in double quotes must follow ="},
		{"bash(cat ~/x)", 11, `write \~`},
		{`t(a = "x)`, 7, "the quote is not closed"},
		{`t(a = "x\")`, 7, "the quote is not closed"},
		{`t(a = "x"`, 2, "the parenthesis is not closed"},
		{`t(a = "x" b = "y")`, 11, `"b" follows a condition`},
		{`t(a = "x",)`, 11, "the name of an argument must stand here"},
		{`t(a = "x", b)`, 13, "an operator must follow the path b"},
		{`t(a = "x", b. = "x")`, 14, "the name of an argument must stand here"},
		{`t(a = "x", b[ = "y")`, 13, "the bracket is not closed"},
		{`t(a = "x", b[x] = "y")`, 13, `brackets hold the number of an element, or '*'; not "x"`},
		{`t(a = "x", b[99999999999] = "y")`, 13, "brackets hold the number"},
		{`t(a..b = "x")`, 3, "this reads like a condition"},
		{`t(a[x] ~"x")`, 3, "this reads like a condition"},
		{`t(a b = "x")`, 3, "this reads like a condition"},
		{`t(ä = "x")`, 3, "this reads like a condition"},
		{`t(a ~ "[")`, 7, "the pattern does not compile"},
		{`t(a ~ "")`, 7, "the pattern is empty"},
		{`t(a =~ "(")`, 8, "the regular expression is invalid"},
		{`t(a !=~ "(")`, 9, "the regular expression is invalid"},
		{`t(a =~ "")`, 8, "the regular expression is empty"},
		{`t(a =~ "` + strings.Repeat("a", 1025) + `")`, 8, "the regular expression has 1025 bytes; at most 1024 are allowed"},
	} {
		_, err := permission.ParseRule(tt.text)
		var pe *permission.ParseError
		if !errors.As(err, &pe) {
			t.Errorf("ParseRule(%.40q): got %v", tt.text, err)
			continue
		}
		if pe.Column != tt.column || !strings.Contains(pe.Message, tt.want) || pe.Rule != tt.text {
			t.Errorf("ParseRule(%.40q): got character %d: %s; want character %d: %s", tt.text, pe.Column, pe.Message, tt.column, tt.want)
		}
	}
	_, err := permission.ParseRule("wc(")
	if got, want := err.Error(), `rule "wc(", character 3: the parenthesis is not closed`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzParseRule proves that no text makes the parser or a rule panic, that
// faults are within the text, and that a rule survives being written and read.
func FuzzParseRule(f *testing.F) {
	for _, seed := range []string{
		"wc", "mcp__*(*)", `/^a\/b/`, "bash(rm (x) *)", `t(a[0].b.*[*] !=~ "x\"y\\", c = "")`, `t(a ~ "{a,b}*")`, "a(", `t(a..b = "x")`, `\((\))`,
	} {
		f.Add(seed, `{"a":["x"]}`)
	}
	f.Fuzz(func(t *testing.T, text, args string) {
		rule, err := permission.ParseRule(text)
		if err != nil {
			var pe *permission.ParseError
			if !errors.As(err, &pe) || pe.Column < 1 || pe.Column > len(text)+1 {
				t.Errorf("ParseRule(%q): %v", text, err)
			}
			return
		}
		written := rule.String()
		again, err := permission.ParseRule(written)
		if err != nil || again.String() != written {
			t.Errorf("%q is written %q, which is read as %s, %v", text, written, again, err)
		}
		rule.MatchesTool("wc")
		for _, behavior := range []permission.Behavior{permission.Allow, permission.Deny} {
			gate := gateOf(t, `{"default_behavior":"allow","rules":[`+ruleJSON(t, text, behavior)+`]}`)
			check(t, gate, "wc", args)
		}
	})
}
