package permission

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// decimal is an exact JSON number: 0.digits × 10^point. Its digits have no zeros at either end and
// are empty for zero, so that equal numbers are equal decimals.
type decimal struct {
	negative bool
	digits   string
	point    int
}

// maxExponentDigits bounds the exponents used in computations, so that none overflows.
const maxExponentDigits = 9

// parseDecimal parses a JSON number. It fails for invalid numbers and for absurd exponents.
func parseDecimal(n json.Number) (d decimal, ok bool) {
	text := string(n)
	if !json.Valid([]byte(text)) || strings.Trim(text, "-0123456789.eE+") != "" {
		return decimal{}, false
	}
	text, d.negative = strings.CutPrefix(text, "-")
	mantissa, exponent := text, 0
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		mantissa = text[:i]
		sign, rest := "", text[i+1:]
		if rest[0] == '+' || rest[0] == '-' {
			sign, rest = rest[:1], rest[1:]
		}
		rest = strings.TrimLeft(rest, "0")
		if len(rest) > maxExponentDigits {
			return decimal{}, false
		}
		exponent, _ = strconv.Atoi(sign + "0" + rest)
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	significant := strings.TrimLeft(digits, "0")
	d.point = len(whole) - (len(digits) - len(significant)) + exponent
	if d.digits = strings.TrimRight(significant, "0"); d.digits == "" {
		return decimal{}, true
	}
	return d, true
}

// compare returns a negative number if d is less than other, 0 if they are equal, and a positive
// number if d is greater.
func (d decimal) compare(other decimal) int {
	if a, b := d.sign(), other.sign(); a != b || a == 0 {
		return cmp.Compare(a, b)
	}
	c := cmp.Or(cmp.Compare(d.point, other.point), strings.Compare(d.digits, other.digits))
	if d.negative {
		return -c
	}
	return c
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	default:
		return 1
	}
}

// String returns the number so that equal numbers have one text: 1.0, 10e-1 and 1 are all 1.
// Numbers that would need many zeros have an exponent.
func (d decimal) String() string {
	const mostZeros, leastPoint = 20, -5
	var b strings.Builder
	if d.negative {
		b.WriteByte('-')
	}
	switch zeros := d.point - len(d.digits); {
	case d.digits == "":
		return "0"
	case zeros > mostZeros, d.point < leastPoint:
		b.WriteString(d.digits[:1])
		if len(d.digits) > 1 {
			b.WriteString("." + d.digits[1:])
		}
		b.WriteString("e")
		if d.point > 0 {
			b.WriteByte('+')
		}
		exponent := strconv.Itoa(d.point - 1)
		if d.point-1 < 0 && len(exponent) == 2 { // as e-07: two digits
			exponent = "-0" + exponent[1:]
		}
		b.WriteString(exponent)
	case zeros >= 0:
		b.WriteString(d.digits + strings.Repeat("0", zeros))
	case d.point > 0:
		b.WriteString(d.digits[:d.point] + "." + d.digits[d.point:])
	default:
		b.WriteString("0." + strings.Repeat("0", -d.point) + d.digits)
	}
	return b.String()
}

// numberText returns a number so that equal numbers have one text.
func numberText(n json.Number) string {
	if d, ok := parseDecimal(n); ok {
		return d.String()
	}
	return string(n)
}
