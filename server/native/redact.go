package native

import (
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/service"
)

// withoutHeaders hides the values of all headers within metadata: protocols store client requests
// there, and headers for calling the client's tools are secrets. Metadata without headers is
// returned unchanged.
func withoutHeaders(metadata json.RawMessage) json.RawMessage {
	metadata = service.PublicMetadata(metadata)
	text := strings.ToLower(string(metadata))
	if !strings.Contains(text, "headers") && !strings.Contains(text, `\u`) { // an escape may hide a letter
		return metadata
	}
	var value any
	decoder := json.NewDecoder(strings.NewReader(string(metadata)))
	decoder.UseNumber()
	if decoder.Decode(&value) != nil {
		return json.RawMessage("{}") // not reached: it was validated on arrival
	}
	hideHeaders(value)
	hidden, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage("{}") // not reached: it was decoded
	}
	return hidden
}

func hideHeaders(value any) {
	switch v := value.(type) {
	case []any:
		for i := range v {
			hideHeaders(v[i])
		}
	case map[string]any:
		for name := range v {
			headers, several := v[name].(map[string]any)
			switch {
			case !strings.EqualFold(name, "headers"):
				hideHeaders(v[name])
			case several:
				for header := range headers {
					headers[header] = redact.Placeholder
				}
			default:
				v[name] = redact.Placeholder
			}
		}
	}
}
