package permission_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/plugins"
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
		{"refund(amount > 1000)", "refund(amount > 1000)"},
		{"refund(amount>=1e3,currency==\"EUR\")", `refund(amount >= 1000, currency == "EUR")`},
		{"refund(amount < -0.50)", "refund(amount < -0.5)"},
		{"refund(lines[*].amount <= 1e30)", "refund(lines[*].amount <= 1e+30)"},
		{`t(a in ["x",5 , true,null])`, `t(a in ["x", 5, true, null])`},
		{`t(a == null, b != false, c = 7)`, `t(a == null, b != false, c = 7)`},
		{`read(file ~ path:"/srv/*")`, `read(file ~ path:"/srv/*")`},
		{`bash(cmd !~ command: "go *")`, `bash(cmd !~ command:"go *")`},
		{`bash(command: go *)`, `bash(command:go *)`},
		{`read(path:/srv/*)`, `read(path:/srv/*)`},
		{`bash(echo x \> y)`, `bash(echo x \> y)`},
		{`bash(make 2>&1)`, `bash(make 2>&1)`},
		{`bash(git is *)`, `bash(git is *)`},
		{`bash(echo !x)`, `bash(echo !x)`},
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
		{"\xff", 1, "not valid UTF-8"},
		{strings.Repeat("a", 20_000), 1, "the rule has 20000 bytes; at most 16384 are allowed"},
		{"(x)", 1, "a tool is required"},
		{"wc)", 3, "unmatched closing parenthesis"},
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
		{`t(a = x)`, 7, `a value in double quotes must follow =, or a number, true, false or null; to match the text itself, write \=`},
		{`t(a ~= "x")`, 5, `unknown operator "~="; use == != > >= < <= in ~ !~ = =~ or !=~. To match the text itself, write \~=`},
		{`t(a ~ x)`, 7, `a value in double quotes must follow ~; to match the text itself, write \~`},
		{`refund(amount > x)`, 17, `a number must follow >; to match the text itself, write \>`},
		{`refund(amount > "1000")`, 17, "> compares numbers; write one without quotes"},
		{`refund(amount > 1,000)`, 22, "an operator must follow the path 000"},
		{`refund(amount > 1_000)`, 17, "a number must follow >"},
		{`refund(amount > 0x10)`, 17, "a number must follow >"},
		{`refund(amount > 10 EUR)`, 17, "a number must follow >"},
		{`refund(amount > true)`, 17, "> compares numbers"},
		{`refund(amount => 5)`, 15, `unknown operator "=>"`},
		{`refund(amount =< 5)`, 15, `unknown operator "=<"`},
		{`refund(amount <> 5)`, 15, `unknown operator "<>"`},
		{`refund(amount === 5)`, 15, `unknown operator "==="`},
		{`refund(amount >> 5)`, 15, `unknown operator ">>"`},
		{`refund(amount !> 5)`, 15, `unknown operator "!>"`},
		{`refund(amount gt 1000)`, 15, `unknown operator "gt"`},
		{`refund(amount -gt 1000)`, 15, `unknown operator "-gt"`},
		{`t(a not in ["x"])`, 5, `unknown operator "not in"`},
		{`t(a contains "x")`, 5, `unknown operator "contains"`},
		{`t(a in "x")`, 8, "a list must follow in"},
		{`t(a in ("x"))`, 8, "a list must follow in"},
		{`t(a in 5)`, 8, "a list must follow in"},
		{`t(a in [])`, 9, "a value in double quotes must follow in"},
		{`t(a in ["x")`, 8, "the list is not closed"},
		{`t(a in ["x",])`, 13, "a value in double quotes must follow in"},
		{`refund($.amount > 1000)`, 8, "this reads like a condition"},
		{`refund(the amount > 1000)`, 8, "this reads like a condition"},
		{`refund(sum(amount) >= 1000)`, 8, "this reads like a condition"},
		{`t(a == path:"x")`, 8, "a value in double quotes must follow =="},
		{`t(a ~ path:x)`, 12, "a value in double quotes must follow ~"},
		{`t(a ~ path:"/srv/")`, 7, "a cleaned path has no empty part"},
		{`t(a ~ path:"/srv/../etc")`, 7, `a cleaned path has no part ".."`},
		{`t(a ~ path:"./src")`, 7, `a cleaned path has no part "."`},
		{`t(a ~ path:"~/x")`, 7, "it must begin with '/'"},
		{`t(a ~ path:"")`, 7, "the pattern is empty"},
		{`t(a ~ command:"a; b")`, 7, `a simple command has no ';'`},
		{`t(a ~ command:"a * | b")`, 7, `a simple command has no '|'`},
		{`t(a ~ command:"rm ")`, 7, "a command has single blanks"},
		{`bash(command: "rm *")`, 15, "this reads like a condition"},
		{`bash(command: a && b)`, 15, `a simple command has no '&'`},
		{"bash(FOO=1 npm *)", 10, "a value in double quotes must follow ="},
		{"bash(cat < x)", 12, `write \<`},
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
		`t(a >= 1e3, b in ["x", 5, null])`, `t(a ~ path:"/srv/*")`, `t(a !~ command:"go *")`, `t(command:rm *)`, `t(a => 5)`, `t(a not in [1])`,
	} {
		f.Add(seed, `{"a":["x"]}`)
		f.Add(seed, `{"a":"ls; rm $x","b":-1.5e3}`)
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
			gate.(plugins.CallGate).Explain("wc", json.RawMessage(args))
			if w := gate.(plugins.DiffGate).Widening(gate.(plugins.Gate), "wc"); w.Widened || w.Narrowed {
				t.Errorf("%q differs from itself: %+v", text, w)
			}
		}
	})
}
