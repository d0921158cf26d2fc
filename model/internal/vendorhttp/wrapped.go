package vendorhttp

import "encoding/json"

// wrapperFields are the fields in which gateways put the vendor's events, such as response at Google's
// Code Assist.
var wrapperFields = []string{"response", "result", "data", "payload", "chunk", "body", "output"}

// maxWrappers bounds how deep an event may be wrapped, since each level is decoded separately.
const maxWrappers = 4

// WrappedEvent returns the event that an unknown event has in one of its fields; nil for none, and for
// errors.
func WrappedEvent(ev *ServerEvent) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(ev.Data, &fields) != nil || errorStatus(ev) > 0 {
		return nil
	}
	for _, name := range wrapperFields {
		inner := encodedTwice(fields[name], '{')
		if IsNothing(inner) {
			continue
		}
		if inner = onlyElement(inner); inner[0] == '{' {
			return inner
		}
	}
	return nil
}
