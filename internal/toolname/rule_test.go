package toolname

import (
	"regexp"
	"testing"

	"pgregory.net/rapid"
)

func TestPropertyNamesFitTheirRule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rule := Rule{Longest: rapid.IntRange(12, 128).Draw(t, "longest"), LetterFirst: rapid.Bool().Draw(t, "letter first")}
		pattern := `^[A-Za-z0-9_-]{1,128}$`
		if rule.LetterFirst {
			pattern = `^[A-Za-z][A-Za-z0-9_-]{0,127}$`
		}
		names := rapid.OneOf(rapid.StringMatching(`[0-9a-c./_é-]{0,6}`), rapid.StringN(0, 200, 400))
		a, b := names.Draw(t, "a"), names.Draw(t, "b")
		fit := rule.Fit(a)
		if matches := regexp.MustCompile(pattern).MatchString(fit); !matches || len(fit) > rule.Longest || !rule.Allows(fit) {
			t.Fatalf("%q becomes %q", a, fit)
		}
		if fits := regexp.MustCompile(pattern).MatchString(a) && len(a) <= rule.Longest; fits != rule.Allows(a) || fits != (a == fit) {
			t.Fatalf("%q is allowed: %v, and becomes %q", a, rule.Allows(a), fit)
		}
		if a != b && fit == rule.Fit(b) {
			t.Fatalf("%q and %q both become %q", a, b, fit)
		}
	})
}
