package permission

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// generateNumbers writes numbers in the many ways of JSON.
func generateNumbers() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.SampledFrom([]string{
			"0", "-0", "0.0", "-0e5", "1", "1.0", "10e-1", "1e3", "1000", "1000.0000000000000000001", "9007199254740993", "9007199254740992",
			"9007199254740992.5", "0.1", "0.1000000000000000055511151231257827", "123456789012345678901234567890", "1e30", "1E+30", "-1e-30", "1e-7",
		}),
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,2})?`),
	)
}

// TestPropertyNumbersAreCompared holds the comparison of numbers, and their
// text, to math/big.
func TestPropertyNumbersAreCompared(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		a, b := generateNumbers().Draw(rt, "a"), generateNumbers().Draw(rt, "b")
		exactA, okA := new(big.Rat).SetString(a)
		exactB, okB := new(big.Rat).SetString(b)
		x, ok1 := parseDecimal(json.Number(a))
		y, ok2 := parseDecimal(json.Number(b))
		if !ok1 || !ok2 || !okA || !okB {
			rt.Fatalf("%s or %s cannot be read", a, b)
		}
		if got, want := x.compare(y), exactA.Cmp(exactB); got != want {
			rt.Fatalf("%s and %s compare as %d, want %d", a, b, got, want)
		}
		if again, ok := new(big.Rat).SetString(x.String()); !ok || again.Cmp(exactA) != 0 {
			rt.Fatalf("%s is written %s", a, x)
		}
		if (x.String() == y.String()) != (exactA.Cmp(exactB) == 0) {
			rt.Fatalf("%s is written %s, and %s is written %s", a, x, b, y)
		}
		for op, want := range map[string]bool{
			">": exactA.Cmp(exactB) > 0, ">=": exactA.Cmp(exactB) >= 0, "<": exactA.Cmp(exactB) < 0, "<=": exactA.Cmp(exactB) <= 0,
			"==": exactA.Cmp(exactB) == 0, "!=": exactA.Cmp(exactB) != 0,
		} {
			rule, err := ParseRule(fmt.Sprintf("t(n %s %s)", op, b))
			if err != nil {
				rt.Fatal(err)
			}
			args, err := decodeArguments(json.RawMessage(`{"n":` + a + `}`))
			if err != nil {
				rt.Fatal(err)
			}
			for _, cautious := range []bool{false, true} {
				if got := rule.matchesArguments(args, cautious); got != want {
					rt.Fatalf("%s %s %s is %v, want %v", a, op, b, got, want)
				}
			}
		}
	})
}

func TestNumbersThatCannotBeCompared(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "x", "0x10", "1_000", "+1", "01", "1e9999999999", "Infinity", "NaN", "true", `"1"`, "1 ", "- 1", strings.Repeat("-", 3)} {
		if d, ok := parseDecimal(json.Number(text)); ok {
			t.Errorf("%q is read as %s", text, d)
		}
	}
}
