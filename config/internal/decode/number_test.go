package decode_test

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentruntime/agentruntime/config/internal/decode"
)

func TestNumbersKeepTheirDigits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"0": "0", "-0": "-0", "+7": "7", "1_000": "1000", "1.50": "1.50", ".5": "0.5", "-.5": "-0.5", "5.": "5", "1e3": "1e3", "1.e+3": "1e+3", "2E-2": "2E-2",
		"0x1F": "31", "-0x10": "-16", "0o17": "15", "0b101": "5", "123456789012345678901234567890": "123456789012345678901234567890",
	} {
		if got, err := decode.ParseNumber(text); err != nil || string(got) != want {
			t.Errorf("%s is %s, %v, want %s", text, got, err, want)
		}
	}
}

func TestSomeTextsAreNoNumbers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": `"" is not a number`, "-": `"-" is not a number`, ".": `"." is not a number`, "1e": `"1e" is not a number`, "1e+": `"1e+" is not a number`,
		"1.2.3": `"1.2.3" is not a number`, "e5": `"e5" is not a number`, "0xG": `"0xG" is not a number`, "--1": `"--1" is not a number`,
		".inf": "infinity and NaN are not allowed", "-.INF": "infinity and NaN are not allowed", ".NaN": "infinity and NaN are not allowed",
		"1e999": "the number 1e999 is too large",
		"0777":  "the number 0777 starts with 0, which may mean octal: remove the 0, or write 0o… or quotes",
	} {
		if got, err := decode.ParseNumber(text); err == nil || err.Error() != want {
			t.Errorf("%q is %s, %v, want %s", text, got, err, want)
		}
	}
}

// Whatever the text, a number is valid JSON with the value that Go reads in the text.
func TestNumbersAreJSONOfTheSameValue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("0123456789.eE+-_xob")), 0, 12, -1).Draw(t, "text")
		number, err := decode.ParseNumber(text)
		if err != nil {
			return
		}
		if !json.Valid([]byte(number)) {
			t.Fatalf("%q is %s, which is not JSON", text, number)
		}
		plain := strings.ReplaceAll(text, "_", "")
		want, err := strconv.ParseFloat(plain, 64)
		if err != nil { // an integer in another base
			whole, ok := new(big.Int).SetString(strings.TrimPrefix(plain, "+"), 0)
			if !ok {
				t.Fatalf("%q is %s, which Go cannot read", text, number)
			}
			want, _ = new(big.Float).SetInt(whole).Float64()
		}
		if got, err := strconv.ParseFloat(string(number), 64); err != nil || got != want {
			t.Fatalf("%q is %s, want %v", text, number, want)
		}
	})
}

type numbers struct {
	Int   int     `json:"int"`
	Tiny  int8    `json:"tiny"`
	Uint  uint64  `json:"uint"`
	Float float64 `json:"float"`
	Share float64 `json:"share" min:"0" max:"1"`
	Least int     `json:"least" min:"2"`
}

func TestNumbersFitTheirFields(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]numbers{
		"{int: -5, tiny: 127, float: 1.5}":  {Int: -5, Tiny: 127, Float: 1.5},
		"{int: 1e3, tiny: 2.0}":             {Int: 1000, Tiny: 2},
		"{int: 9223372036854775807}":        {Int: math.MaxInt64},
		"{uint: 18446744073709551615}":      {Uint: math.MaxUint64},
		"{uint: 1e3, share: 1, least: 0x2}": {Uint: 1000, Share: 1, Least: 2},
	} {
		if got, found := decodeText[numbers](t, text); got != want || found != nil {
			t.Errorf("%s is %+v, %q, want %+v", text, got, found, want)
		}
	}
	for text, want := range map[string]string{
		"{int: 1.5}":                 "invalid-value int: int must be a whole number, not the number 1.5",
		"{int: 9223372036854775808}": "invalid-value int: int is 9223372036854775808, which is too large or too small",
		"{int: 1e30}":                "invalid-value int: int is 1e30, which is too large or too small",
		"{tiny: 128}":                "invalid-value tiny: tiny is 128, which is too large or too small",
		"{uint: -1}":                 "invalid-value uint: uint is -1, which is too large or too small",
		"{uint: 0.5}":                "invalid-value uint: uint must be a whole number, not the number 0.5",
		"{share: 2}":                 "invalid-value share: share is 2; it must be between 0 and 1",
		"{least: 1}":                 "invalid-value least: least is 1; it must be 2 or more",
		"{int: 010}":                 "invalid-value int: int: the number 010 starts with 0, which may mean octal: remove the 0, or write 0o… or quotes",
		"{int: '5'}":                 `invalid-value int: int must be a whole number, not the text "5" (write it without quotes)`,
		"{float: '${A}'}":            `invalid-value float: float must be a number, not the text "${A}" (variables give texts, never numbers)`,
		"{float: 5 USD}":             `invalid-value float: float must be a number, not the text "5 USD" (write 5)`,
	} {
		if _, found := decodeText[numbers](t, text); len(found) != 1 || found[0] != want {
			t.Errorf("%s gives %q, want %q", text, found, want)
		}
	}
}
