package permission

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// arguments are the decoded arguments of a call.
type arguments struct {
	object map[string]any
	whole  string
	// size is the arguments' length as JSON, in bytes.
	size int
	// commands are the split texts, and work is the cost of comparisons so far.
	commands map[string]splitText
	work     int
}

// splitText is splitCommand's result for a text.
type splitText struct {
	commands []simpleCommand
	err      error
}

// maxWork is the maximum cost of comparing the arguments of one call with all rules: bytes of text
// times the pattern's instructions per byte.
const maxWork = 1 << 27

var errTooMuchWork = errors.New("comparing the arguments with the rules takes too long")

// spend counts work. It reports whether any is left.
func (a *arguments) spend(work int) bool {
	a.work += work
	return a.work <= maxWork
}

// spendOn counts the work of comparing a value with an operand, excluding patterns.
func (a *arguments) spendOn(o *operand, v any) bool {
	work := 1
	switch v := v.(type) {
	case json.Number:
		work += len(v)
	case map[string]any, []any:
		work += 40 * a.size // it may be encoded
	}
	return a.spend(work * max(1, len(o.list)))
}

// splitCommand returns the simple commands of a text. It splits each text once.
func (a *arguments) splitCommand(text string) ([]simpleCommand, error) {
	split, ok := a.commands[text]
	if !ok {
		split.commands, split.err = splitCommand(text)
		if a.commands == nil {
			a.commands = map[string]splitText{}
		}
		a.commands[text] = split
	}
	return split.commands, split.err
}

var (
	errMalformed = errors.New("the arguments are not JSON")
	errNoObject  = errors.New("the arguments are not a JSON object")
)

// decodeArguments decodes the arguments of a call. Two keys of an object that are equal, or differ
// only in case, are an error, because the tool may read a different one than the rules.
func decodeArguments(raw json.RawMessage) (*arguments, error) {
	if len(raw) == 0 {
		return &arguments{object: map[string]any{}}, nil
	}
	// Valid also bounds the depth of the decoding below.
	if !json.Valid(raw) {
		return nil, errMalformed
	}
	if err := rawjson.AmbiguousKeys(raw); err != nil {
		return nil, fmt.Errorf("the arguments are ambiguous: %w", err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("%w: %w", errMalformed, err)
	}
	object, ok := v.(map[string]any)
	if !ok {
		return nil, errNoObject
	}
	return &arguments{object: object, size: len(raw)}, nil
}

// primaryFits reports whether the glob matches the one argument: the value of the only key, else
// all arguments as JSON. A cautious rule also checks the value of each key, and matches a call
// without any.
func (a *arguments) primaryFits(glob *operand, cautious bool) bool {
	single := len(a.object) == 1
	if single || cautious {
		for _, v := range a.object {
			// Beside other arguments, a non-string argument need not be the intended one.
			_, text := v.(string)
			if !a.spendOn(glob, v) {
				return cautious
			}
			if t := a.matchOperand(glob, v); t == yes || t == unknown && cautious && (single || text) {
				return true
			}
		}
	}
	if single || glob.kind != ofGlob {
		return cautious && len(a.object) == 0
	}
	if a.whole == "" && a.spendOn(glob, a.object) {
		a.whole = textOf(a.object)
	}
	fits := a.spend(len(a.whole)*glob.glob.Cost()) && glob.glob.Match(a.whole)
	return fits || cautious && len(a.object) == 0
}

// textOf returns a value's text for matching: a string as it is, a number in its shortest form,
// everything else as JSON with sorted keys. Equivalent spellings by a model yield the same text.
func textOf(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return numberText(v)
	case bool:
		return strconv.FormatBool(v)
	case nil:
		return "null"
	}
	encoded, _ := rawjson.Marshal(normalizeNumbers(v)) // values decoded from JSON can be encoded
	return string(encoded)
}

// normalizeNumbers returns a value with its numbers in their shortest form.
func normalizeNumbers(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = normalizeNumbers(value)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, value := range v {
			out[i] = normalizeNumbers(value)
		}
		return out
	case json.Number:
		return json.Number(numberText(v))
	default:
		return v
	}
}
