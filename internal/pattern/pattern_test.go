package pattern_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/pattern"
)

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"weather", "weather", true},
		{"weather", "weather2", false},
		{"*", "", true},
		{"*", "a:b/c_d\ne", true},
		{"mcp__*", "mcp__git__log", true},
		{"a*b", "a/b", true},
		{"a*/b", "a/x/b", true},
		{"*rm -rf*", "cd x && rm -rf x", true},
		{"curl * | sh", "curl https://x.y/z | sh", true},
		{"*.env", "src/.env", true},
		{"mcp:*/read", "mcp:a/b/read", true},
		{"?", "/", true},
		{"??", "é/", true},
		{"[ab]c", "bc", true},
		{"[!ab]c", "bc", false},
		{"{read,write}_*", "write_file", true},
		{"{read,write}_*", "list_file", false},
		{`a\*b`, "a*b", true},
		{`a\*b`, "axb", false},
		{`a\\b`, `a\b`, true},
		{"!x", "!x", true},
		{"!x", "y", false},
		{"Bash(npm *)", "Bash", false},
		{"Bash(npm *)", "Bash(npm i)", true},
		{"ü*", "über", true},
		{"a,b", "a,b", true},
	} {
		p, err := pattern.Compile(tt.pattern)
		if err != nil {
			t.Errorf("Compile(%q): %v", tt.pattern, err)
			continue
		}
		if got := p.Match(tt.text); got != tt.want {
			t.Errorf("%q matches %q: got %v, want %v", tt.pattern, tt.text, got, tt.want)
		}
	}
}

func TestCompileRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "[", "[a", "{a", "{a,b", `a\`, `a\\\`, "[]", "}", "a]"} {
		if p, err := pattern.Compile(bad); err == nil {
			t.Logf("Compile(%q) = %q, no error; matches itself: %v", bad, p, p.Match(bad))
			if bad != "}" && bad != "a]" {
				t.Errorf("Compile(%q) gave no error", bad)
			}
		}
	}
}

// FuzzCompile proves that no pattern panics, neither when it is compiled nor
// when it is matched, and that a pattern free of special characters matches
// exactly itself.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{"*", "a*b", "[a-z]", "{a,b*}", `\*`, "[!x]?", "{,}", "***", "[^-]"} {
		f.Add(seed, "abc")
	}
	f.Fuzz(func(t *testing.T, source, text string) {
		p, err := pattern.Compile(source)
		if err != nil {
			return
		}
		p.Match(text)
	})
}
