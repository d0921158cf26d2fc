package vendorhttp

import (
	"regexp"
	"strconv"
	"strings"
)

// LeastOutput is the smallest answer that is worth requesting, in tokens.
const LeastOutput = 256

// tooManyTokens matches errors about an output limit that is too large for the model.
var tooManyTokens = regexp.MustCompile(`(?i)too (large|high|big|many)|at most|exceed|maximum|less than|lower than|range|<=|>|limit`)

// SaysTooManyTokens reports whether a server rejects an output limit as too large.
func SaysTooManyTokens(message string) bool { return tooManyTokens.MatchString(message) }

var wholeNumber = regexp.MustCompile(`\d[\d,]*`)

// LowerOutputLimit returns the output limit that a refusal suggests; 0 if it suggests none. Numbers
// below LeastOutput are model versions.
func LowerOutputLimit(message string, sent int) (named int) {
	if !SaysTooManyTokens(message) {
		return 0
	}
	for _, digits := range wholeNumber.FindAllString(message, -1) {
		n, err := strconv.Atoi(strings.ReplaceAll(digits, ",", ""))
		if err == nil && LeastOutput <= n && n < sent {
			named = max(named, n)
		}
	}
	return named
}
