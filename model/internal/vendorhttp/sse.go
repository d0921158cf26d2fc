package vendorhttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// next reads the next event with data. It reports whether there is one.
func (r *eventReader) next() bool {
	if !r.state.begun {
		r.state.begun = true
		r.state.isJSON = r.beginStream()
		if r.framing.Decode != nil && r.atEvents() {
			r.framing.Decode = nil
		}
	}
	r.clearEvent()
	switch {
	case r.rest != nil:
		r.event.Data, r.rest = r.rest, nil
		r.splitValue()
	case r.state.isJSON:
		if !r.readValue() {
			return false
		}
	case !r.readEvent():
		return false
	}
	r.joinSurrogates()
	return true
}

// readEvent reads the next event with data from a stream.
func (r *eventReader) readEvent() bool {
	if r.framing.Decode != nil {
		return r.decodeEvent()
	}
	if r.held != nil {
		r.addField(r.held)
		r.held = nil
	}
	for {
		line, err := r.readLine()
		if len(line)+len(r.event.Data) > eventLimit {
			err = errEventTooLarge
		}
		switch {
		case errors.Is(err, io.EOF):
			r.addField(line)
			r.splitData()
			return !r.framing.StrictEnd && len(r.event.Data) > 0 && (json.Valid(r.event.Data) || r.event.isEnd())
		case err != nil:
			r.err = err
			return false
		case len(line) > 0 && r.beginsEvent(line):
			r.held = bytes.Clone(line)
			r.splitData()
			r.framing.StrictEnd = false // no empty line will follow the last event either
			return true
		case len(line) > 0:
			r.addField(line)
		case len(r.event.Data) > 0:
			r.splitData()
			return true
		default:
			r.clearEvent() // ignore an event without data
		}
	}
}

// beginsEvent reports whether a line begins the next event although no empty line ended the current
// one, whose data is already complete.
func (r *eventReader) beginsEvent(line []byte) bool {
	isName := bytes.HasPrefix(line, []byte("event:")) && len(r.event.Name) > 0
	if r.fields == 0 || !isName && !bytes.HasPrefix(line, []byte("data:")) {
		return false
	}
	return r.dataNesting().IsWhole()
}

// decodeEvent reads the next event of a stream in another format.
func (r *eventReader) decodeEvent() bool {
	err := r.framing.Decode(r.in, &r.event)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return err == nil
}

// addField handles one line of an event. Comments have an empty name.
func (r *eventReader) addField(line []byte) {
	line = bytes.TrimPrefix(line, byteOrderMark)
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		r.event.Name = append(r.event.Name[:0], value...)
		return
	case "error":
		r.event.Name = append(r.event.Name[:0], name...)
	case "data":
		if again, ok := bytes.CutPrefix(value, []byte("data:")); ok { // of a proxy
			value = bytes.TrimPrefix(again, []byte(" "))
		}
		value = bytes.TrimPrefix(value, byteOrderMark)
	case "", "id", "retry":
		return
	default:
		value = line
		if line[0] != '{' && r.dataNesting().IsOpen() {
			break // JSON over several lines
		}
		r.noteStray(line)
		if !r.framing.PlainErrors {
			return
		}
	}
	if r.fields > 0 {
		r.event.Data = append(r.event.Data, '\n')
	}
	r.event.Data = append(r.event.Data, value...)
	r.fields++
}
