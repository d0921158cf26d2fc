package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// CheckJSON returns an error if the body of a request is ambiguous or expensive to decode: it is
// not valid JSON or UTF-8, is nested more than depth levels deep, has more than MaxJSONValues
// values, or has an object with a duplicate key. Every surface checks bodies with it before
// decoding.
func CheckJSON(body []byte, depth int) error {
	if !rawjson.Valid(body) { // it is fast, but gives no reason
		if fault := rawjson.Fault(body); fault != "" {
			return errors.New("is not valid JSON: " + fault)
		}
		if !utf8.Valid(body) {
			return errors.New("is not UTF-8")
		}
	}
	switch levels, values := rawjson.Measure(body); {
	case levels > depth:
		return fmt.Errorf("is nested more than %d levels deep", depth)
	case values > MaxJSONValues:
		return errTooManyValues
	}
	return rawjson.DuplicateKeys(body)
}

// MaxJSONDepth is the nesting limit of a request body, unless its surface allows less.
const MaxJSONDepth = 1000

// MaxJSONValues limits the JSON values of a request. A decoded value takes up to a hundred times
// the memory of its text.
const MaxJSONValues = 500_000

var errTooManyValues = fmt.Errorf("has more than %d values", MaxJSONValues)

// CheckPayload returns an error for data with too many values. The data need not be JSON: it comes
// from other programs, such as the body of a webhook.
func CheckPayload(data []byte) error {
	if _, values := rawjson.Measure(data); values > MaxJSONValues && json.Valid(data) {
		return badBody(errTooManyValues.Error())
	}
	return nil
}

// WriteJSON writes a JSON response that must not be cached. If the value cannot be encoded, it
// returns an error and writes nothing.
func WriteJSON(w http.ResponseWriter, status int, body any) error {
	text, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode the answer: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = w.Write(append(text, '\n')) // the client may be gone
	return nil
}
