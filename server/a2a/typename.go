package a2a

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"time"
)

// typeNameWriter removes the names of Go types from errors that the SDK writes about
// parameters.
type typeNameWriter struct{ http.ResponseWriter }

// goTypeError matches an error of encoding/json inside a JSON string.
var goTypeError = regexp.MustCompile(`json: cannot unmarshal (\w+)(?: [^ "]+)? into Go (?:struct field \w+\.([\w.]+)|value) of type [^"\\]*|Time\.UnmarshalJSON: [^"\\]*`)

// errorField is the name of the field with an error. Searching it is cheap, and most responses
// do not have it.
var errorField = []byte(`"error"`)

// Write writes a part of the response. Each error comes in one piece.
func (w typeNameWriter) Write(p []byte) (int, error) {
	var response struct {
		Error json.RawMessage `json:"error"`
	}
	if !bytes.Contains(p, errorField) || !goTypeError.Match(p) || json.Unmarshal(bytes.TrimPrefix(p, dataField), &response) != nil || response.Error == nil {
		return w.ResponseWriter.Write(p)
	}
	fixed := goTypeError.ReplaceAllFunc(p, func(text []byte) []byte {
		found := goTypeError.FindSubmatch(text)
		switch field := found[2]; {
		case len(found[1]) == 0:
			return []byte("a time must be text like " + time.RFC3339)
		case len(field) == 0:
			return append([]byte("the value must not be a JSON "), found[1]...)
		default:
			return append(append(bytes.Clone(field), " must not be a JSON "...), found[1]...)
		}
	})
	if _, err := w.ResponseWriter.Write(fixed); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Unwrap returns the wrapped writer.
func (w typeNameWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
