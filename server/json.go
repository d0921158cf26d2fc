package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// CheckJSON reports why the body of a request may be read in more than one way, or
// take long to read: it is no JSON, is not UTF-8, is nested more than depth levels
// deep, or has an object with the same key twice. Every surface checks with it what
// it decodes.
func CheckJSON(body []byte, depth int) error {
	if fault := rawjson.Fault(body); fault != "" {
		return errors.New("it is no JSON: " + fault)
	}
	if !utf8.Valid(body) {
		return errors.New("it is not UTF-8")
	}
	if rawjson.Depth(body) > depth {
		return fmt.Errorf("it is nested more than %d levels deep", depth)
	}
	return rawjson.DuplicateKeys(body)
}

// MaxJSONDepth is how many levels the body of a request may have, unless its
// surface allows fewer.
const MaxJSONDepth = 1000

// WriteJSON answers with a value as JSON, which nobody may keep. The error says
// that the value cannot be encoded; then nothing is written.
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
	_, _ = w.Write(append(text, '\n')) // a client that is gone misses nothing
	return nil
}
