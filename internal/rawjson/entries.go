package rawjson

import (
	"bytes"
	"encoding/json"
	"iter"
)

// Entries iterates over the members of an object in raw, which must be valid JSON. Values are parts
// of raw, and a non-object has no entries. It decodes only keys, which is much faster than
// encoding/json, and yields repeated keys repeatedly.
func Entries(raw []byte) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for key, value := range rawEntries(raw) {
			if !yield(unquoteKey(key), value) {
				return
			}
		}
	}
}

// CountEntries returns the number of entries that Entries yields.
func CountEntries(raw []byte) (n int) {
	for range rawEntries(raw) {
		n++
	}
	return n
}

// rawEntries is Entries with the keys quoted as in raw.
func rawEntries(raw []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 || raw[0] != '{' {
			return
		}
		for at := 1; ; {
			quote := bytes.IndexByte(raw[at:], '"')
			if quote < 0 {
				return
			}
			begin := at + quote
			end := stringEnd(raw, begin)
			value := end + bytes.IndexByte(raw[end:], ':') + 1
			at = valueEnd(raw, value)
			if !yield(raw[begin:end], raw[value:at]) {
				return
			}
		}
	}
}

// Elements iterates over the elements of a list in raw, which must be valid JSON. They are parts of
// raw, and a non-list has no elements.
func Elements(raw []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		raw = bytes.TrimSpace(raw)
		if len(raw) == 0 || raw[0] != '[' {
			return
		}
		for at := 1; at < len(raw); at++ {
			end := valueEnd(raw, at)
			element := bytes.TrimSpace(raw[at:end])
			if len(element) == 0 || !yield(element) {
				return
			}
			at = end
		}
	}
}

// valueEnd returns the position of the comma or bracket after the value that begins at from.
func valueEnd(raw []byte, from int) int {
	level := 0
	for i := from; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			i = stringEnd(raw, i) - 1
		case '{', '[':
			level++
		case '}', ']':
			if level--; level < 0 {
				return i
			}
		case ',':
			if level == 0 {
				return i
			}
		}
	}
	return len(raw)
}

// unquoteKey decodes a key given with its quotes.
func unquoteKey(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var key string
	_ = json.Unmarshal(quoted, &key) // valid JSON decodes
	return key
}
