package google

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// refusal is the vendor's reason for rejecting a request or aborting an answer, as the cause of a
// model.Error.
type refusal struct {
	// status is the HTTP status; 0 for an error inside a stream.
	status int
	api    apiError
	// detailed is set if there was an error in the vendor's form.
	detailed bool
}

// apiError is the vendor's form of an error.
type apiError struct {
	Code    int              `json:"code"`
	Message string           `json:"message"`
	Status  string           `json:"status"`
	Details []map[string]any `json:"details"`
}

// Error returns the vendor's own names for the failure. It omits the message, because model.Error
// knows what must not appear in it.
func (r *refusal) Error() string {
	return fmt.Sprintf("google: code %d, status %q, reason %q", r.api.Code, r.api.Status, r.errorReason())
}

// parseRefusal reads the body of a rejection, {"error": {…}}, or a list of them.
func parseRefusal(data []byte) *refusal {
	var list []json.RawMessage
	if json.Unmarshal(data, &list) == nil && len(list) > 0 {
		data = list[0]
	}
	var outer struct {
		Error  json.RawMessage `json:"error"`
		Detail json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(data, &outer) != nil || len(outer.Error) == 0 {
		text := vendorhttp.ErrorText(outer.Detail) // of a gateway
		return &refusal{api: apiError{Message: text}, detailed: text != ""}
	}
	return parseErrorValue(outer.Error)
}

// parseErrorValue reads the value of an error field: an object, or a text.
func parseErrorValue(data json.RawMessage) *refusal {
	r := &refusal{detailed: true}
	if json.Unmarshal(data, &r.api.Message) == nil {
		return r
	}
	// A field of the wrong type leaves the others readable.
	_ = json.Unmarshal(data, &r.api)
	if r.api.Message == "" {
		r.api.Message = vendorhttp.ErrorText(data)
	}
	return r
}

// unknownField matches "Unknown name "thinkingLevel" at 'generation_config.thinking_config': Cannot find
// field.".
var unknownField = regexp.MustCompile(`Unknown name "(\w+)"(?: at '(?:[\w.\[\]]*\.)?(\w+))?`)

// RejectedField returns the names of unknown fields, each with the name of its object.
func (r *refusal) RejectedField() string {
	var names []string
	for _, found := range unknownField.FindAllStringSubmatch(r.api.Message, -1) {
		names = append(names, strings.TrimPrefix(found[2]+"."+found[1], "."))
	}
	return strings.Join(names, " ")
}

// detailField returns the text of a field in the details of a type, or "".
func (r *refusal) detailField(typeName, field string) string {
	for _, d := range r.api.Details {
		name, _ := d["@type"].(string)
		if value, ok := d[field].(string); ok && strings.HasSuffix(name, typeName) {
			return value
		}
	}
	return ""
}

func (r *refusal) errorReason() string { return r.detailField("google.rpc.ErrorInfo", "reason") }

// longestDelay limits the delay that a server may request. The runtime decides whether to wait that
// long.
const longestDelay = 24 * time.Hour

// retryDelay returns the wait requested by the error itself; 0 if unspecified.
func (r *refusal) retryDelay() time.Duration {
	delay, err := time.ParseDuration(r.detailField("google.rpc.RetryInfo", "retryDelay"))
	if err != nil {
		return 0
	}
	return min(max(delay, 0), longestDelay)
}
