package rawjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"unicode"

	"github.com/agentruntime/agentruntime/internal/clip"
)

// fewKeys is the maximum number of an object's keys that are compared one by one. Larger objects
// get a set, so that the time stays linear in the text.
const fewKeys = 16

// AmbiguousKeys returns an error if an object anywhere in raw, which must be valid JSON, has two
// keys that are equal or differ only in case. Decoders disagree about which of the two counts, and
// encoding/json accepts "AMOUNT" for a field named amount, so the checker and the user of such a
// text may see different values.
func AmbiguousKeys(raw []byte) error { return scanKeys(raw, true) }

// DuplicateKeys returns an error if an object anywhere in raw, which must be valid JSON, has the
// same key twice. Decoders disagree about which of the two counts, so that a proxy and the server
// may read different requests.
func DuplicateKeys(raw []byte) error { return scanKeys(raw, false) }

// scanners reuses the memory of scanners, so that small texts allocate none.
var scanners = sync.Pool{New: func() any {
	return &keyScanner{open: make([]keys, 0, fewKeys), names: make([][]byte, 0, fewKeys)}
}}

// scanKeys checks the keys of all objects.
func scanKeys(raw []byte, ignoreCase bool) error {
	s := scanners.Get().(*keyScanner) //nolint:forcetypeassert // only scanners are stored
	s.raw, s.ignoreCase = raw, ignoreCase
	err := s.scan()
	if cap(s.open) == fewKeys && cap(s.names) == fewKeys { // memory for large texts is not reused
		clear(s.open[:fewKeys])
		clear(s.names[:fewKeys])
		s.raw, s.open, s.names = nil, s.open[:0], s.names[:0]
		scanners.Put(s)
	}
	return err
}

// keys are the keys of an open object; a list has none.
type keys struct {
	object bool
	// first is the index of the object's first name among the names of all open objects. A large
	// object uses a set instead.
	first int
	set   map[string][]byte
}

// keyScanner walks over the tokens of valid JSON.
type keyScanner struct {
	raw        []byte
	ignoreCase bool
	open       []keys
	names      [][]byte
}

func (s *keyScanner) scan() error {
	for i := 0; i < len(s.raw); i++ {
		switch s.raw[i] {
		case '{':
			s.open = append(s.open, keys{object: true, first: len(s.names)})
		case '[':
			s.open = append(s.open, keys{first: len(s.names)})
		case '}', ']':
			if len(s.open) > 0 {
				last := len(s.open) - 1
				s.names, s.open = s.names[:s.open[last].first], s.open[:last]
			}
		case '"':
			end := stringEnd(s.raw, i)
			if s.isKey(end) {
				if err := s.addKey(&s.open[len(s.open)-1], s.raw[i:end]); err != nil {
					return err
				}
			}
			i = end - 1
		}
	}
	return nil
}

// isKey reports whether a colon follows the string that ends at a position.
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

// addKey records a key of an object, given with its quotes.
func (s *keyScanner) addKey(k *keys, quoted []byte) error {
	key := quoted[1:max(1, len(quoted)-1)]
	if bytes.IndexByte(key, '\\') >= 0 {
		var text string
		if err := json.Unmarshal(quoted, &text); err != nil {
			return fmt.Errorf("the key %s cannot be read: %w", quoted, err)
		}
		key = []byte(text)
	}
	if k.set == nil {
		return s.addName(k, key)
	}
	folded := s.foldKey(key)
	if other, twice := k.set[folded]; twice {
		return ambiguousError(other, key)
	}
	k.set[folded] = key
	return nil
}

// addName records a key of an object that still has few keys.
func (s *keyScanner) addName(k *keys, key []byte) error {
	for _, other := range s.names[k.first:] {
		if s.equalKeys(other, key) {
			return ambiguousError(other, key)
		}
	}
	s.names = append(s.names, key)
	if len(s.names)-k.first <= fewKeys {
		return nil
	}
	k.set = make(map[string][]byte, 2*fewKeys)
	for _, other := range s.names[k.first:] {
		k.set[s.foldKey(other)] = other
	}
	s.names = s.names[:k.first]
	return nil
}

// equalKeys reports whether two keys are the same.
func (s *keyScanner) equalKeys(a, b []byte) bool {
	if s.ignoreCase {
		return bytes.EqualFold(a, b)
	}
	return bytes.Equal(a, b)
}

// foldKey returns a text that is the same only for equal keys.
func (s *keyScanner) foldKey(key []byte) string {
	if s.ignoreCase {
		return foldKey(key)
	}
	return string(key)
}

// foldKey returns a text that is the same for keys that differ only in case, by the simple Unicode
// folding that encoding/json also uses.
func foldKey(key []byte) string {
	return strings.Map(func(r rune) rune {
		least := r
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			least = min(least, f)
		}
		return least
	}, string(key))
}

func ambiguousError(a, b []byte) error {
	first, second := clip.Text(string(a)), clip.Text(string(b))
	if bytes.Equal(a, b) {
		return fmt.Errorf("the key %q is there twice", first)
	}
	return fmt.Errorf("the keys %q and %q differ only in case", first, second)
}
