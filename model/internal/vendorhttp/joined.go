package vendorhttp

import "bytes"

// splitData keeps what follows the first JSON value in the data of an event for the next event. Some
// proxies join events.
func (r *eventReader) splitData() {
	data := r.event.Data
	if !bytes.Contains(data, []byte("}{")) && !bytes.Contains(data, []byte("}data:")) {
		return
	}
	var n Nesting
	end := 0
	for end < len(data) && !n.IsWhole() {
		n.readByte(data[end])
		end++
	}
	rest := bytes.TrimPrefix(data[end:], []byte("data:"))
	if rest = bytes.TrimLeft(rest, " "); len(rest) > 0 && (rest[0] == '{' || isEndMark(rest)) {
		r.event.Data, r.rest = data[:end], bytes.Clone(rest)
	}
}

// atEvents reports whether server-sent events follow. Some gateways send them instead of another form.
func (r *eventReader) atEvents() bool {
	head, _ := r.in.Peek(len("event:"))
	return bytes.HasPrefix(head, []byte("data:")) || bytes.HasPrefix(head, []byte("event:")) || bytes.HasPrefix(head, []byte(":"))
}
