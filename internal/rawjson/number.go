package rawjson

import (
	"encoding/json"
	"math/big"
)

// maxDigits limits the numbers that are compared exactly, because with a large exponent a number
// could exceed memory.
const maxDigits = 64

// EqualNumbers reports whether two numbers are exactly equal, regardless of spelling. Numbers of
// more than 64 characters are equal only if spelled identically.
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
