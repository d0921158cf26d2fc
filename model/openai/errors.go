package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// refusal is the vendor's reason for rejecting a request or aborting an answer, as the cause of a
// model.Error.
type refusal struct {
	// status is the HTTP status, 0 for an error inside a stream.
	status            int
	code, kind, param string
	message           string
}

// Error returns the vendor's own names for the error. The message is left to the model.Error, which
// knows what must not appear in it.
func (r *refusal) Error() string {
	return fmt.Sprintf("openai: code %q, type %q, param %q", r.code, r.kind, r.param)
}

// RejectedField returns the field that the vendor blames. Cerebras puts a kind of error there.
func (r *refusal) RejectedField() string {
	if strings.HasSuffix(r.param, "_error") {
		return ""
	}
	return r.param
}

// parseRefusal reads the body of a refusal, or an error event: the vendor's
// {"error": {…}}, or one of the forms that compatible servers use. It returns nil
// for anything else.
func parseRefusal(data []byte) *refusal {
	if !json.Valid(data) {
		return nil
	}
	var list []json.RawMessage
	if json.Unmarshal(data, &list) == nil && len(list) > 0 {
		data = list[0] // some gateways wrap the object in a list
	}
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
		refusalFields
	}
	_ = json.Unmarshal(data, &outer) // a non-object leaves all empty
	isStatus := !vendorhttp.IsNothing(outer.Message) && isStatusText(outer.Error)
	if !vendorhttp.IsNothing(outer.Error) && !isStatus {
		return parseErrorValue(outer.Error)
	}
	if bytes.Contains(outer.Message, []byte(`"role"`)) {
		outer.Message = nil // another API's response
	}
	message := vendorhttp.Text(cmp.Or(vendorhttp.ErrorText(outer.Message), vendorhttp.ErrorText(outer.Detail)))
	if message == "" && outer.Code == "" {
		return nil
	}
	return outer.toRefusal(vendorhttp.Text(vendorhttp.WithErrors(string(message), data)))
}

// isStatusText reports whether the value of an error field only repeats the HTTP status, as Spring
// and Fastify do.
func isStatusText(data json.RawMessage) bool {
	var text string
	if json.Unmarshal(data, &text) != nil || text == "" {
		return false
	}
	for status := http.StatusBadRequest; status < 600; status++ {
		if text == http.StatusText(status) {
			return true
		}
	}
	return false
}

type refusalFields struct {
	Code  vendorhttp.Text `json:"code"`
	Kind  vendorhttp.Text `json:"type"`
	Param vendorhttp.Text `json:"param"`
}

func (f *refusalFields) toRefusal(message vendorhttp.Text) *refusal {
	return &refusal{code: string(f.Code), kind: string(f.Kind), param: string(f.Param), message: string(message)}
}

// errorMetadata is what OpenRouter adds to an error.
type errorMetadata struct {
	Raw vendorhttp.Text `json:"raw"`
}

// longestWritten is how much of an unreadable answer a message quotes, in bytes.
const longestWritten = 300

// parseErrorValue reads the value of an error field: an object or a string.
func parseErrorValue(data json.RawMessage) *refusal {
	var inner struct {
		Message vendorhttp.Text `json:"message"`
		refusalFields

		// OpenRouter has the error of the server that it asked, Groq the answer that it cannot read.
		Metadata         vendorhttp.Detail[errorMetadata] `json:"metadata"`
		FailedGeneration vendorhttp.Text                  `json:"failed_generation"`
	}
	if json.Unmarshal(data, &inner) != nil || inner.Message == "" {
		inner.Message = vendorhttp.Text(vendorhttp.ErrorText(data))
	}
	inner.Message = vendorhttp.Text(vendorhttp.WithErrors(string(inner.Message), data))
	if raw := inner.Metadata.Value.Raw; raw != "" {
		inner.Message += ": " + vendorhttp.Text(cmp.Or(vendorhttp.ErrorText([]byte(raw)), string(raw)))
	}
	if wrote := inner.FailedGeneration; wrote != "" {
		inner.Message += vendorhttp.Text(" The model wrote: " + clip.At(longestWritten, string(wrote)))
	}
	return inner.toRefusal(inner.Message)
}

func (r *refusal) isEmpty() bool { return r.message == "" && r.code == "" && r.kind == "" }
