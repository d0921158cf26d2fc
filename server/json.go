package server

import (
	"encoding/json"
	"fmt"
	"net/http"
)

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
