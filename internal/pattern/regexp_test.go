package pattern_test

import (
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/pattern"
	"github.com/agentruntime/agentruntime/internal/testkit/usage"
)

// The worst regular expressions are rejected, or compile and match in bounded time.
func TestRegularExpressionsAreBounded(t *testing.T) {
	for name, source := range map[string]string{
		"long":                   strings.Repeat("x", 64<<10),
		"repetitions":            strings.Repeat("x{1000}", 9000),
		"some repetitions":       strings.Repeat("x{1000}", 500),
		"classes":                strings.Repeat(`[\pL\pN]`, 6000),
		"optional repetitions":   strings.Repeat("(x?){200}", 5) + "y",
		"alternatives":           "(" + strings.Repeat("x*|", 1000) + ")*y",
		"repeated more and more": "((((x?){9}){9}){9})y",
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			used := usage.Of(func() {
				var re *pattern.Regexp
				if re, err = pattern.CompileRegexp(source); err == nil {
					re.MatchString(strings.Repeat("x", re.Longest()))
				}
			})
			t.Logf("%v, %d MB, %v", used.CPU, used.Allocated>>20, err)
			if used.CPU > 15*time.Second || used.Allocated > 100<<20 {
				t.Errorf("it took %v and %d MB", used.CPU, used.Allocated>>20)
			}
		})
	}
}
