package command

import (
	"bytes"
	"encoding/json"
	"errors"
	"math/big"
	"strconv"
	"strings"
)

// maxElement is how long an element of a command line may be, in bytes: Linux
// takes 128 KiB with the byte that ends it.
const maxElement = 128<<10 - 1

// maxExponent is the largest exponent of a number that is written out.
const maxExponent = 64

// arguments are those of a call, as the model wrote them.
type arguments map[string]json.RawMessage

func decodeArguments(raw []byte) (arguments, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	var args arguments
	if err := json.Unmarshal(raw, &args); err != nil {
		return nil, errors.New("the arguments are no JSON object")
	}
	return args, nil
}

// has reports whether an argument is there; null is as good as missing.
func (a arguments) has(name string) bool {
	raw, ok := a[name]
	return ok && string(raw) != "null"
}

// text returns an argument as a program expects it: a string as it is, a number
// in decimal digits, a list or object as compact JSON.
func (a arguments) text(name string) (string, error) {
	raw := a[name]
	switch raw[0] {
	case '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return "", errors.New("argument " + name + " is no text")
		}
		if strings.Contains(text, "\x00") {
			return "", errors.New("argument " + name + " must not have NUL characters")
		}
		return text, nil
	case '{', '[':
		var compact bytes.Buffer
		if err := json.Compact(&compact, raw); err != nil {
			return "", errors.New("argument " + name + " is no JSON")
		}
		return compact.String(), nil
	case 't', 'f':
		return string(raw), nil
	default:
		return plainNumber(name, string(raw))
	}
}

// plainNumber writes a number without an exponent and without a fraction of
// zeros: 1e3 and 1000.0 are 1000.
func plainNumber(name, number string) (string, error) {
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		if exponent, err := strconv.Atoi(number[i+1:]); err != nil || exponent > maxExponent || exponent < -maxExponent {
			return "", errors.New("argument " + name + " is too large or too small for a command line")
		}
	}
	value, ok := new(big.Rat).SetString(number)
	if !ok {
		return "", errors.New("argument " + name + " is no number")
	}
	digits, _ := value.FloatPrec()
	return value.FloatString(digits), nil
}
