package rawjson

import (
	"encoding/json"
	"math/big"
)

// maxDigits bounds the numbers that are compared exactly, because an exponent could make a number
// exceed memory.
const maxDigits = 64

// EqualNumbers reports whether two numbers are equal, exactly and whatever their spelling. Numbers
// of more than 64 characters are equal only if they are spelled alike.
func EqualNumbers(a, b json.Number) bool {
	if a == b {
		return true
	}
	if len(a) > maxDigits || len(b) > maxDigits {
		return false
	}
	x, errX := a.Float64()
	y, errY := b.Float64()
	if errX != nil || errY != nil || x != y {
		return false
	}
	p, _, errP := big.ParseFloat(string(a), 10, 512, big.ToNearestEven)
	q, _, errQ := big.ParseFloat(string(b), 10, 512, big.ToNearestEven)
	return errP == nil && errQ == nil && p.Cmp(q) == 0
}
