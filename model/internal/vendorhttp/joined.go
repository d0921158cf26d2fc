package vendorhttp

import "bytes"

// splitData splits the data of an event that a proxy has joined with others.
func (r *eventReader) splitData() {
	if bytes.Contains(r.event.Data, []byte("}{")) || bytes.Contains(r.event.Data, []byte("}data:")) {
		r.splitValue()
	}
}

// splitValue keeps the data after the first JSON value for the next event. The data is not copied.
func (r *eventReader) splitValue() {
	data := r.event.Data
	var n Nesting
	end := 0
	for end < len(data) && !n.IsWhole() {
		n.readByte(data[end])
		end++
	}
	rest := bytes.TrimPrefix(data[end:], []byte("data:"))
	if rest = bytes.TrimLeft(rest, " "); len(rest) > 0 && (rest[0] == '{' || isEndMark(rest)) {
		r.event.Data, r.rest = data[:end:end], rest
	}
}

// atEvents reports whether server-sent events follow. Some gateways send them instead of another form.
func (r *eventReader) atEvents() bool {
	head, _ := r.in.Peek(len("event:"))
	return bytes.HasPrefix(head, []byte("data:")) || bytes.HasPrefix(head, []byte("event:")) || bytes.HasPrefix(head, []byte(":"))
}
