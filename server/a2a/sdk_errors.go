package a2a

import (
	"bytes"
	"encoding/json"
	"regexp"
	"time"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server"
)

// goTypeError matches an error of encoding/json inside a JSON string.
var goTypeError = regexp.MustCompile(`json: cannot unmarshal (\w+)(?: [^ "]+)? into Go (?:struct field \w+\.([\w.]+)|value) of type [^"\\]*|Time\.UnmarshalJSON: [^"\\]*`)

// errorField is the name of the field with an error. Searching it is cheap, and most responses
// do not have it.
var errorField = []byte(`"error"`)

// rewriteErrors returns a part of a response without the names of Go types and the long messages, which
// repeat the request, in errors that the SDK writes about parameters. Each error comes in one piece.
func rewriteErrors(p []byte) []byte {
	var response struct {
		Error json.RawMessage `json:"error"`
	}
	long := len(p) > server.MaxMessage
	if !bytes.Contains(p, errorField) || !long && !goTypeError.Match(p) || json.Unmarshal(bytes.TrimPrefix(p, dataField), &response) != nil || response.Error == nil {
		return p
	}
	fixed := p
	if long {
		fixed = shortenMessage(p, response.Error)
	}
	return goTypeError.ReplaceAllFunc(fixed, func(text []byte) []byte {
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
}

// shortenMessage shortens the message of an error in a response.
func shortenMessage(response, failure []byte) []byte {
	var e struct {
		Message json.RawMessage `json:"message"`
	}
	var text string
	if json.Unmarshal(failure, &e) != nil || json.Unmarshal(e.Message, &text) != nil {
		return response
	}
	short, err := json.Marshal(clip.At(server.MaxMessage, text))
	if err != nil {
		return response
	}
	return bytes.Replace(response, e.Message, short, 1)
}
