package command

import (
	"errors"
	"math/big"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/tools"
)

// maxElement is the maximum length of a command-line element, in bytes: Linux allows 128 KiB
// including the terminating byte.
const maxElement = 128<<10 - 1

// maxNumber is the maximum length of a number, in bytes.
const maxNumber = 4096

// maxExponent is the largest exponent of a number that is written out.
const maxExponent = 64

// elementText returns an argument as an element of a command line.
func elementText(args tools.Arguments, name string) (string, error) {
	text, err := argumentText(args, name)
	if err == nil && strings.Contains(text, "\x00") {
		return "", errors.New("argument " + name + " must not have NUL characters")
	}
	return text, err
}

// argumentText returns an argument as a program expects it: a string as it is, a number
// in decimal digits, a list or object as compact JSON.
func argumentText(args tools.Arguments, name string) (string, error) {
	raw := args[name]
	switch raw[0] {
	case '"', '{', '[', 't', 'f':
	default:
		return plainNumber(name, string(raw))
	}
	text, err := args.Text(name)
	if err != nil {
		return "", errors.New("argument " + name + " cannot be read")
	}
	return text, nil
}

// plainNumber writes a number without an exponent and without a zero fraction: 1e3 and 1000.0
// become 1000.
func plainNumber(name, number string) (string, error) {
	if len(number) > maxNumber {
		return "", errors.New("argument " + name + " has too many digits for a command line")
	}
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		if exponent, err := strconv.Atoi(number[i+1:]); err != nil || exponent > maxExponent || exponent < -maxExponent {
			return "", errors.New("argument " + name + " is too large or too small for a command line")
		}
	}
	value, ok := new(big.Rat).SetString(number)
	if !ok {
		return "", errors.New("argument " + name + " is not a number")
	}
	digits, _ := value.FloatPrec()
	return value.FloatString(digits), nil
}
