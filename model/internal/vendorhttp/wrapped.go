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

// translateWrapped translates an event, or else the event that it has in one of its fields. Once there
// was an answer without that, such an event may be a copy of it.
func (t *attempt) translateWrapped(translator Translator, ev *ServerEvent, out *Batch) (done bool, err error) {
	done, err = translator.Translate(ev, out)
	for range maxWrappers {
		if !out.Unknown || err != nil || t.answered && !t.isWrapped {
			break
		}
		inner := WrappedEvent(ev)
		if inner == nil {
			break
		}
		ev.Name, ev.Data, out.Unknown = ev.Name[:0], inner, false
		done, err = translator.Translate(ev, out)
		t.isWrapped = t.isWrapped || !out.Unknown
	}
	return done, err
}
