package rawjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"
)

// fewKeys is how many keys of an object are compared one by one. Objects with
// more get a set, so that the time stays in proportion to the text.
const fewKeys = 16

// AmbiguousKeys returns an error when an object anywhere in raw, which must be
// valid JSON, has two keys that are equal or differ only in case. Decoders
// disagree about which of the two counts, and encoding/json takes "AMOUNT" for
// a field named amount: who checks such a text and who uses it may see
// different values.
func AmbiguousKeys(raw []byte) error {
	var room [fewKeys]keys
	s := keyScanner{raw: raw, open: room[:0], fold: foldKey, equal: bytes.EqualFold}
	return s.scan()
}

// DuplicateKeys returns an error when an object anywhere in raw, which must be
// valid JSON, has the same key twice. Decoders disagree about which of the two
// counts, so that a proxy and the server may read different requests.
func DuplicateKeys(raw []byte) error {
	var room [fewKeys]keys
	s := keyScanner{raw: raw, open: room[:0], fold: func(key []byte) string { return string(key) }, equal: bytes.Equal}
	return s.scan()
}

// keys are those of one object that is being read; a list has none.
type keys struct {
	object bool
	list   [][]byte
	set    map[string][]byte
}

// keyScanner walks over the tokens of valid JSON.
type keyScanner struct {
	raw  []byte
	open []keys
	// equal reports whether two keys are the same, and fold returns a text that
	// only such keys have in common.
	equal func(a, b []byte) bool
	fold  func(key []byte) string
}

func (s *keyScanner) scan() error {
	for i := 0; i < len(s.raw); i++ {
		switch s.raw[i] {
		case '{':
			s.open = append(s.open, keys{object: true})
		case '[':
			s.open = append(s.open, keys{})
		case '}', ']':
			if len(s.open) > 0 {
				s.open = s.open[:len(s.open)-1]
			}
		case '"':
			end := stringEnd(s.raw, i)
			if s.isKey(end) {
				if err := s.add(&s.open[len(s.open)-1], s.raw[i:end]); err != nil {
					return err
				}
			}
			i = end - 1
		}
	}
	return nil
}

// isKey reports whether a colon follows a string that ends at a position.
func (s *keyScanner) isKey(end int) bool {
	if len(s.open) == 0 || !s.open[len(s.open)-1].object {
		return false
	}
	rest := bytes.TrimLeft(s.raw[end:], " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}

// stringEnd returns the position after the string that begins at from.
func stringEnd(raw []byte, from int) int {
	for i := from + 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// add notes a key of an object, given with its quotes.
func (s *keyScanner) add(k *keys, quoted []byte) error {
	key := quoted[1:max(1, len(quoted)-1)]
	if bytes.IndexByte(key, '\\') >= 0 {
		var text string
		if err := json.Unmarshal(quoted, &text); err != nil {
			return fmt.Errorf("the key %s cannot be read: %w", quoted, err)
		}
		key = []byte(text)
	}
	if k.set == nil {
		for _, other := range k.list {
			if s.equal(other, key) {
				return clash(other, key)
			}
		}
		if k.list = append(k.list, key); len(k.list) <= fewKeys {
			return nil
		}
		k.set = make(map[string][]byte, 2*len(k.list))
		for _, other := range k.list {
			k.set[s.fold(other)] = other
		}
		return nil
	}
	folded := s.fold(key)
	if other, twice := k.set[folded]; twice {
		return clash(other, key)
	}
	k.set[folded] = key
	return nil
}

// foldKey returns a text that is the same for keys that differ only in case, by
// the simple folding of Unicode that encoding/json uses, too.
func foldKey(key []byte) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, string(key))
}

func clash(a, b []byte) error {
	if bytes.Equal(a, b) {
		return fmt.Errorf("the key %q is there twice", a)
	}
	return fmt.Errorf("the keys %q and %q differ only in case", a, b)
}
