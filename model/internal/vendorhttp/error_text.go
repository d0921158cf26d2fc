package vendorhttp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/clip"
)

// maxPlainError is the maximum length of a plain text error, in bytes.
const maxPlainError = 300

// PlainError returns an error sent as plain text; empty for HTML and other content.
func PlainError(body []byte) string {
	text := strings.TrimSpace(string(body))
	if text == "" || text[0] == '<' || text[0] == '{' || text[0] == '[' || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return ""
	}
	return strings.Join(strings.Fields(clip.At(maxPlainError, text)), " ")
}

// errorWord matches the names of events and fields that hold errors.
var errorWord = regexp.MustCompile(`(?i)error|exception|fail|traceback`)

// errorStatus returns the HTTP status of an event in an unknown form that is an error by its name,
// a field with such a name, or an error status. It is 200 if the error has no status, and 0 if the
// event is not an error.
func errorStatus(ev *ServerEvent) (found int) {
	if errorWord.Match(ev.Name) {
		found = http.StatusOK
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(ev.Data, &fields) != nil {
		return found
	}
	for name, value := range fields {
		switch name {
		case "code", "status", "status_code", "statusCode":
			var status Number
			_ = status.UnmarshalJSON(value) // never fails
			if http.StatusBadRequest <= status && status < 600 {
				return int(status)
			}
		case "success", "ok":
			if string(value) == "false" {
				found = http.StatusOK
			}
		default:
			if errorWord.MatchString(name) && !IsNothing(value) && string(bytes.Trim(value, `"`)) != "0" {
				found = http.StatusOK
			}
		}
	}
	return found
}

// ErrorText extracts the message from an error's JSON: a text, an object with the text in a usual
// field, a list of errors such as FastAPI's, or an object of errors by field. It is empty for JSON
// without a message.
func ErrorText(data []byte) string { return errorText(data, 0) }

const maxErrorDepth = 6

// errorTexts are the names of fields that hold an error's text, best first.
var errorTexts = []string{
	"message", "Message", "msg", "detail", "details", "error", "errors", "error_description", "error_message", "description", "title", "reason", "text",
}

// errorPlaces are the names of fields that locate the fault in the request.
var errorPlaces = []string{"loc", "field", "param", "path", "property", "pointer", "additionalProperty", "instancePath"}

// noErrorTexts are the names of fields without an explanation.
var noErrorTexts = []string{"type", "code", "status", "object", "id", "request_id", "timestamp", "instance", "success", "input", "ctx", "url"}

func errorText(data json.RawMessage, depth int) string {
	var text string
	var list []json.RawMessage
	var object map[string]json.RawMessage
	switch {
	case depth > maxErrorDepth:
		return ""
	case json.Unmarshal(data, &text) == nil:
		return strings.TrimSpace(text)
	case json.Unmarshal(data, &list) == nil:
		texts := make([]string, 0, len(list))
		for _, one := range list {
			if t := errorText(one, depth+1); t != "" && !slices.Contains(texts, t) {
				texts = append(texts, t)
			}
		}
		return strings.Join(texts, "; ")
	case json.Unmarshal(data, &object) != nil:
		return ""
	}
	for _, name := range errorTexts {
		if text = errorText(object[name], depth+1); text != "" {
			return placeOfError(object) + withErrors(text, object, depth)
		}
	}
	var texts []string
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if slices.Contains(noErrorTexts, name) || slices.Contains(errorPlaces, name) {
			continue
		}
		if text = errorText(object[name], depth+1); text != "" {
			texts = append(texts, name+": "+text)
		}
	}
	if len(texts) == 0 {
		return ""
	}
	return placeOfError(object) + strings.Join(texts, "; ")
}

// WithErrors appends to an error's message the list of errors in its JSON.
func WithErrors(message string, data []byte) string {
	var object map[string]json.RawMessage
	_ = json.Unmarshal(data, &object) // only an object has a list
	return withErrors(message, object, 0)
}

func withErrors(message string, object map[string]json.RawMessage, depth int) string {
	for _, name := range []string{"errors", "details", "detail"} {
		if list := bytes.TrimSpace(object[name]); len(list) == 0 || list[0] != '[' {
			continue
		}
		if text := errorText(object[name], depth+1); text != "" && message != "" && !strings.Contains(message, text) {
			message += ": " + text
		}
	}
	return message
}

// placeOfError returns the place of an error as a prefix of its text.
func placeOfError(object map[string]json.RawMessage) string {
	for _, name := range errorPlaces {
		var one string
		var several []any
		if json.Unmarshal(object[name], &one) != nil && json.Unmarshal(object[name], &several) == nil {
			one = strings.ReplaceAll(strings.TrimSpace(fmt.Sprintln(several...)), " ", ".")
		}
		if one != "" {
			return one + ": "
		}
	}
	var params map[string]json.RawMessage // of Ajv
	if json.Unmarshal(object["params"], &params) == nil && params != nil {
		return placeOfError(params)
	}
	return ""
}
