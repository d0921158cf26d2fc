package decode

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// Number is a number as JSON writes it, with the digits of the file.
type Number string

var errNotFinite = errors.New("infinity and NaN are not allowed")

// ParseNumber reads the text of a number: decimal, hexadecimal (0x),
// octal (0o) or binary (0b), with '_' between digits if so wanted. Decimals
// that begin with 0 are refused, because YAML 1.1 reads them as octal and YAML
// 1.2 does not.
func ParseNumber(text string) (Number, error) {
	plain := strings.ReplaceAll(text, "_", "")
	sign, digits := "", strings.TrimPrefix(plain, "+")
	if rest, negative := strings.CutPrefix(digits, "-"); negative {
		sign, digits = "-", rest
	}
	switch {
	case strings.EqualFold(digits, ".inf"), strings.EqualFold(plain, ".nan"):
		return "", errNotFinite
	case digits == "":
		return "", fmt.Errorf("%q is not a number", clip.Text(text))
	case len(digits) > 1 && digits[0] == '0' && strings.ContainsRune("xXoObB", rune(digits[1])):
		v, ok := new(big.Int).SetString(digits, 0)
		if !ok || len(digits) > 100 {
			return "", fmt.Errorf("%q is not a number", clip.Text(text))
		}
		return Number(sign + v.String()), nil
	case len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9':
		return "", fmt.Errorf("the number %s starts with 0, which may mean octal: remove the 0, or write 0o… or quotes", clip.Text(text))
	}
	return normalizeDecimal(text, sign, digits)
}

// decimal matches a decimal number in YAML: its whole part, its fraction and its exponent.
var decimal = regexp.MustCompile(`^([0-9]*)(?:\.([0-9]*))?([eE][+-]?[0-9]+)?$`)

// normalizeDecimal converts a decimal number to JSON syntax without changing its digits.
func normalizeDecimal(text, sign, digits string) (Number, error) {
	m := decimal.FindStringSubmatch(digits)
	if m == nil || m[1]+m[2] == "" {
		return "", fmt.Errorf("%q is not a number", clip.Text(text))
	}
	n := sign + cmp.Or(m[1], "0")
	if m[2] != "" {
		n += "." + m[2]
	}
	n += m[3]
	if v, err := strconv.ParseFloat(n, 64); err != nil || math.IsInf(v, 0) {
		return "", fmt.Errorf("the number %s is too large", clip.Text(text))
	}
	return Number(n), nil
}

// asFloat returns the number as a float.
func (n Number) asFloat() float64 {
	v, _ := strconv.ParseFloat(string(n), 64)
	return v
}

func (n Number) isWhole() bool { return n.asFloat() == math.Trunc(n.asFloat()) }

// asInt returns the number if it is whole and fits an int64.
func (n Number) asInt() (int64, bool) {
	if v, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return v, true
	}
	f := n.asFloat()
	return int64(f), n.isWhole() && math.Abs(f) < 1<<53
}

// storeIn stores the number, if it fits without loss.
func (n Number) storeIn(v reflect.Value) bool {
	i, isInt := n.asInt()
	switch record.ShapeOf(v.Type()) {
	case record.FloatShape:
		f := n.asFloat()
		if v.OverflowFloat(f) {
			return false
		}
		v.SetFloat(f)
	case record.IntShape:
		if !isInt || v.OverflowInt(i) {
			return false
		}
		v.SetInt(i)
	default:
		u, err := strconv.ParseUint(string(n), 10, 64)
		if err != nil && isInt && i >= 0 {
			u, err = uint64(i), nil
		}
		if err != nil || v.OverflowUint(u) {
			return false
		}
		v.SetUint(u)
	}
	return true
}

func (d *Decoder) decodeNumber(f *record.Field, n *yamltree.Node, v reflect.Value, p *tree.Place) {
	want := "a whole number"
	if record.ShapeOf(v.Type()) == record.FloatShape {
		want = "a number"
	}
	if n.Kind != yamltree.Int && n.Kind != yamltree.Float {
		d.notNumber(f, n, p, want)
		return
	}
	number, err := ParseNumber(n.Text)
	if err != nil {
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s: %v", p.Label(), err)
		return
	}
	if !d.inRange(f, n, number.asFloat(), p) {
		return
	}
	if !number.storeIn(v) {
		if number.isWhole() || want == "a number" {
			d.AddDiagnostic(diag.InvalidValue, p, n, "%s is %s, which is too large or too small", p.Label(), clip.Text(n.Text))
			return
		}
		d.reportMismatch(f, n, p, want)
	}
}

// notNumber reports a value that is not a number.
func (d *Decoder) notNumber(f *record.Field, n *yamltree.Node, p *tree.Place, want string) {
	found := d.reportMismatch(f, n, p, want)
	if n.Kind != yamltree.String {
		return
	}
	if _, err := ParseNumber(n.Text); err == nil {
		found.SetHint("write it without quotes")
	} else if strings.Contains(n.Text, "${") {
		found.SetHint("variables give texts, never numbers")
	} else if bare := strings.TrimSpace(currency.ReplaceAllString(n.Text, "")); bare != n.Text {
		if _, err := ParseNumber(bare); err == nil && !f.Secret {
			found.SetHint("write " + bare)
		}
	}
}

// currency matches currency symbols and codes, which amounts must not contain.
var currency = regexp.MustCompile(`(?i)[$€£¥]|\b(?:usd|eur|gbp)\b`)

// inRange checks a number against the limits of its field.
func (d *Decoder) inRange(f *record.Field, n *yamltree.Node, v float64, p *tree.Place) bool {
	switch {
	case f.Min != nil && f.Max != nil && (v < *f.Min || v > *f.Max):
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s is %s; it must be between %s and %s", p.Label(), clip.Text(n.Text), record.FormatNumber(*f.Min), record.FormatNumber(*f.Max))
	case f.Min != nil && v < *f.Min:
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s is %s; it must be %s or more", p.Label(), clip.Text(n.Text), record.FormatNumber(*f.Min))
	case f.Max != nil && v > *f.Max:
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s is %s; it must be %s or less", p.Label(), clip.Text(n.Text), record.FormatNumber(*f.Max))
	default:
		return true
	}
	return false
}
