package vendorhttp

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
)

// Number is a count or position. Servers also write it as a float or a string; any
// other form counts as 0.
type Number int

// UnmarshalJSON reads the number. It never fails.
func (n *Number) UnmarshalJSON(data []byte) error {
	value, err := strconv.ParseFloat(string(bytes.Trim(data, `"`)), 64)
	if err != nil || math.IsNaN(value) || math.Abs(value) > math.MaxInt32 {
		value = 0
	}
	*n = Number(value)
	return nil
}

// Detail is a value that an answer can do without: one of an unexpected form is
// ignored.
type Detail[T any] struct{ Value T }

// UnmarshalJSON reads the value. It never fails.
func (d *Detail[T]) UnmarshalJSON(data []byte) error {
	var value T
	if json.Unmarshal(data, &value) == nil {
		d.Value = value
	}
	return nil
}
