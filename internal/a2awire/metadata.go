package a2awire

import (
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"time"
)

// A MetadataError describes an error in a peer's metadata of the extension.
type MetadataError struct {
	// Field is the invalid field; empty for the metadata as a whole.
	Field   string
	Problem string
}

// Error names the field and the problem.
func (e *MetadataError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("the metadata of %s %s", Extension, e.Problem)
	}
	return fmt.Sprintf("%s in the metadata of %s %s", e.Field, Extension, e.Problem)
}

// reader reads fields written by a peer and keeps the first error.
type reader struct {
	fields map[string]any
	err    error
}

// readerOf returns a reader of the extension's fields, or nil if the metadata has none.
func readerOf(metadata map[string]any) (*reader, error) {
	value, ok := metadata[Extension]
	if !ok || value == nil {
		return nil, nil
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, &MetadataError{Problem: "is not an object"}
	}
	return &reader{fields: fields}, nil
}

func (r *reader) noteError(field, format string, args ...any) {
	if r.err == nil {
		r.err = &MetadataError{Field: field, Problem: fmt.Sprintf(format, args...)}
	}
}

// joinError adopts the error of a nested reader.
func (r *reader) joinError(inner *reader) {
	if r.err == nil {
		r.err = inner.err
	}
}

// readObject returns a reader of a nested object, or nil if absent.
func (r *reader) readObject(field string) *reader {
	value, ok := r.fields[field]
	if !ok || value == nil {
		return nil
	}
	fields, ok := value.(map[string]any)
	if !ok {
		r.noteError(field, "is not an object")
		return nil
	}
	return &reader{fields: fields}
}

// readNumber returns a non-negative number; ok is false if it is missing.
func (r *reader) readNumber(field string) (n float64, ok bool) {
	switch value := r.fields[field].(type) {
	case nil:
		return 0, false
	case float64:
		n = value
	case int:
		n = float64(value)
	case int64:
		n = float64(value)
	case json.Number:
		var err error
		if n, err = value.Float64(); err != nil {
			n = math.NaN()
		}
	default:
		n = math.NaN()
	}
	if math.IsNaN(n) || math.IsInf(n, 0) || n < 0 {
		r.noteError(field, "must be a number, 0 or more")
		return 0, false
	}
	return n, true
}

// readCount returns a whole number up to largest, or 0 if none.
func (r *reader) readCount(field string, largest int) int {
	n, ok := r.readNumber(field)
	if ok && (n > float64(largest) || n != math.Trunc(n)) {
		r.noteError(field, "must be a whole number from 0 to %d", largest)
		return 0
	}
	return int(n)
}

// readLimit returns a limit, capped to largest, or nil if absent.
func (r *reader) readLimit(field string, largest int) *int {
	n, ok := r.readNumber(field)
	if !ok {
		return nil
	}
	limit := int(min(n, float64(largest)))
	return &limit
}

func (r *reader) readTime(field string) time.Time {
	value, ok := r.fields[field]
	if !ok || value == nil {
		return time.Time{}
	}
	text, _ := value.(string)
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		r.noteError(field, "is not an RFC 3339 time")
		return time.Time{}
	}
	return t
}

// currencyCode matches the form of ISO 4217 codes.
var currencyCode = regexp.MustCompile(`^[A-Z]{3}$`)

func (r *reader) readCurrency(field string) string {
	text, _ := r.fields[field].(string)
	if !currencyCode.MatchString(text) {
		r.noteError(field, "is not an ISO 4217 code")
		return ""
	}
	return text
}
