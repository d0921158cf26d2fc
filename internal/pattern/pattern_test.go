package pattern_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gobwas/glob"

	"github.com/agentruntime/agentruntime/internal/pattern"
	"github.com/agentruntime/agentruntime/internal/testkit/usage"
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
		{"weather", "weath", false},
		{"*", "a b", true},
		{"read*", "read", true},
		{"*_file", "read_file", true},
		{"*_file", "read_files", false},
		{"*a*", "bab", true},
		{"a*b*c", "a/x/b/y/c", true},
		{"a*c", "ab", false},
		{`\!x`, "!x", true},
		{`\{x\}`, "{x}", true},
		{"{x}", "{x}", false},
		{"{x}", "x", true},
		{"[abc]", "[abc]", false},
		{`\[abc\]`, "[abc]", true},
		{"a?c", "abc", true},
		{"a?c", "ac", false},
		{`a\?c`, "a?c", true},
		{"/B.*/", "Bash", false},
		{"Read", "read", false},
		{"[a-c]x", "bx", true},
		{"[!a-c]x", "bx", false},
		{"[!a-c]x", "ix", true},
		{"rm *", "rm -rf /", true},
		{"rm *", "rmdir", false},
		{"{a,b}{c,d}", "bc", true},
		{"{a,b}{c,d}", "ab", false},
		{"{a,{b,c}d}e", "cde", true},
		{"{a,{b,c}d}e", "ce", false},
		{"x{,y}z", "xz", true},
		{"x{,y}z", "xyz", true},
		{`{a\,b,c\}}`, "a,b", true},
		{`{a\,b,c\}}`, "c}", true},
		{"{[,}],x}y", ",y", true},
		{"{[,}],x}y", "}y", true},
		{"{*,a}*b", "xxb", true},
		{"*{.env,.pem}", "src/prod/.env", true},
		{"*{rm,del}* {-rf,/s}*", "cd x && rm -v -rf y", true},
		{"a\x00*", "a\x00b", true},
		{"*", "\xff\xfe", true},
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
	for source, want := range map[string]string{
		"":                                  "the pattern is empty",
		"[":                                 "the pattern does not compile: unexpected end of input at byte 1",
		"[a":                                "the pattern does not compile: unexpected end of input at byte 2",
		"[]":                                "the pattern does not compile: could not parse range at byte 2",
		"x{a":                               "the pattern does not compile: unclosed `{` at byte 3",
		"{a,b":                              "the pattern does not compile: unclosed `{` at byte 4",
		`a\`:                                `the pattern ends in a single '\', which escapes nothing`,
		`a\\\`:                              `the pattern ends in a single '\', which escapes nothing`,
		"*\xff":                             "the pattern is not valid UTF-8",
		"\xff":                              "the pattern is not valid UTF-8",
		long("a", 1025):                     "the pattern has 1025 bytes; at most 1024 are allowed",
		long("?", 65):                       "the pattern has 65 '?' and '[…]'; at most 64 are allowed",
		long("{a,b}", 7):                    "the alternatives of the pattern have more than 64 combinations",
		"{" + long("a,", 64) + "}":          "the alternatives of the pattern have more than 64 combinations",
		"{" + long("{a,b},", 32) + "{a,b}}": "the alternatives of the pattern have more than 64 combinations",
		long("{a,b}", 6) + "[ab]?":          "the pattern has 128 '?' and '[…]' when its alternatives are written out; at most 64 are allowed",
		long("{a,b}", 6) + long("x", 60):    "the pattern has 4224 bytes when its alternatives are written out; at most 4096 are allowed",
	} {
		if _, err := pattern.Compile(source); err == nil || err.Error() != want {
			t.Errorf("Compile(%q): got %v, want %s", source, err, want)
		}
	}
}

func long(s string, n int) string { return strings.Repeat(s, n) }

// TestBracketsThatCloseNothing verifies that an unmatched '}' or ']' is a literal.
func TestBracketsThatCloseNothing(t *testing.T) {
	t.Parallel()
	for _, source := range []string{"}", "a]", "a}*"} {
		p, err := pattern.Compile(source)
		if err != nil || !p.Match(source) {
			t.Errorf("Compile(%q): %v", source, err)
		}
	}
}

// TestMatchTakesNoTime verifies that the worst permitted patterns match the worst texts in
// negligible time.
func TestMatchTakesNoTime(t *testing.T) {
	t.Parallel()
	// The promise is 160 ms; the rest is for busy machines and the race detector.
	const limit, size = 3 * time.Second, 64 << 10
	texts := []string{long("a", size), long("ab", size/2), long("a", size-1) + "b"}
	for _, source := range []string{
		"*a*a*a*a*b", "*a*a*a*a*bx*", long("*a", 500) + "x*", "*" + long("a", 1000) + "x*",
		"*" + long("?", 64) + "x*", "*" + long("a?", 64) + "x*", "*" + long("[ab]", 64) + "x*", long("*?", 64) + "x*",
		"{a,b}{a,b}{a,b}{a,b}{a,b}*c", "{a,aa}{a,aa}{a,aa}{a,aa}{a,aa}{a,aa}c", "*{a,aa}*{a,aa}*{a,aa}*c*",
		"*{a*,b*}*{a*,b*}*c*", "{*a*,*b*}{*a*,*b*}{*a*,*b*}c*", "{a*{a*{a*{a*,b},b},b},b}*c",
		"*b*x*", "{" + long("*a*b*x*,", 60) + "b}*z*", "*" + long("a", 900) + "?x*", "*" + long("[!bcdefghijklmno]", 55) + "x*",
		"*{*a,*aa}*x", "{*a*,*b*}{*a*,*b*}{*a*,*b*}{*a*,*b*}{*a*,*b*}{*a*,*b*}c*", "*{a,b}?*{a,b}?*{a,b}?*x*",
	} {
		p, err := pattern.Compile(source)
		if err != nil {
			t.Errorf("Compile(%q): %v", source, err)
			continue
		}
		for _, text := range texts {
			took := time.Hour
			for range 3 {
				begun := time.Now()
				p.Match(text)
				took = min(took, time.Since(begun))
			}
			if took > limit {
				t.Errorf("%q takes %v", source, took)
			}
		}
	}
}

func BenchmarkMatch(b *testing.B) {
	for source, text := range map[string]string{
		"weather": "weather", "mcp__*": "mcp__github__search", "*rm -rf*": "cd build && rm -rf out",
		"*{rm,del}* {-rf,/s}*": "cd build && make test && rm -rf out",
	} {
		b.Run(strings.ReplaceAll(source, "/", "_"), func(b *testing.B) {
			p, err := pattern.Compile(source)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				p.Match(text)
			}
		})
	}
}

// FuzzCompile verifies that no pattern panics when compiled or matched, that a pattern without
// special characters matches exactly itself, and that expanding alternatives changes nothing.
func FuzzCompile(f *testing.F) {
	for _, seed := range []string{
		"*", "a*b", "[a-z]", "{a,b*}", `\*`, "[!x]?", "{,}", "***", "[^-]", "{a,{b,c}*}d", `{[,}],\,}`, "*{*a*,*b*}{*a*,*b*}c*",
	} {
		f.Add(seed, "abc")
	}
	f.Fuzz(func(t *testing.T, source, text string) {
		p, err := pattern.Compile(source)
		if err != nil {
			return
		}
		got := p.Match(text)
		if !strings.ContainsAny(source, `*?[]{}\,!`) && (!p.Match(source) || got != (source == text)) {
			t.Errorf("%q has no special character and matches %q: %v", source, text, got)
		}
		// The library is too slow for long texts.
		if len(source) > 20 || len(text) > 12 {
			return
		}
		if g, err := glob.Compile(source); err == nil && g.Match(text) != got {
			t.Errorf("%q matches %q: got %v, the library says %v", source, text, got, !got)
		}
	})
}

// A path glob matches the same as the library, in bounded time.
func FuzzCompilePath(f *testing.F) {
	for _, seed := range []string{"*", "**", "a*/b", "[a-z]/**", "{a,b*}/?", `\*[\]x]`, "[!/x]?", "{,}", "**/{a,{b,c}*}.go", "[^-]", "!x,y", `[\-a]`} {
		f.Add(seed, "a/b.go")
	}
	f.Fuzz(func(t *testing.T, source, path string) {
		compiled, err := pattern.CompilePath(source)
		if err != nil || len(source) > 20 || len(path) > 12 || !utf8.ValidString(path) {
			return
		}
		if want := glob.MustCompile(source, '/').Match(path); compiled.MatchString(path) != want {
			t.Errorf("%q matches %q: got %v, the library says %v", source, path, !want, want)
		}
	})
}

func TestPathPatternsAreBounded(t *testing.T) {
	t.Parallel()
	for _, source := range []string{
		long("*a", 500) + "x*", long("*?", 300) + "x*", long("*{a,b}", 60) + "x*", long("{a,aa,*}", 60) + "x", long("**/*", 200) + "x*", long("**", 64<<10),
	} {
		compiled, err := pattern.CompilePath(source)
		if err != nil {
			continue // rejected
		}
		for _, path := range []string{long("a", 255), long("a/", 2048)} {
			if used := usage.Of(func() { compiled.MatchString(path) }); used.CPU > time.Second {
				t.Errorf("%.20q takes %s", source, used.CPU)
			}
		}
	}
}
