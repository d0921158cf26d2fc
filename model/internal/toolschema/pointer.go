package toolschema

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// place is a value of a document, with nested places by name or number.
type place struct {
	value  json.RawMessage
	within map[string]*place
}

// readPlaces returns the places of a document, which it reads once. It returns nil if the document
// is not JSON.
func readPlaces(document json.RawMessage) *place {
	root := &place{within: map[string]*place{}}
	d := json.NewDecoder(bytes.NewReader(document))
	type container struct {
		*place
		start  int
		isList bool
		// name is the name of the next value in an object, once read.
		name    string
		hasName bool
	}
	open := []container{{place: root, isList: true}}
	for {
		start := int(d.InputOffset())
		token, err := d.Token()
		if err != nil {
			return root.within["0"]
		}
		end := int(d.InputOffset())
		start += len(document[start:end]) - len(bytes.TrimLeft(document[start:end], " \t\r\n,:"))
		in := &open[len(open)-1]
		switch delim, isDelim := token.(json.Delim); {
		case isDelim && (delim == '}' || delim == ']'):
			in.value = document[in.start:end:end]
			open = open[:len(open)-1]
			continue
		case !in.isList && !in.hasName:
			in.name, _ = token.(string) // member names are strings
			in.hasName = true
			continue
		}
		name := in.name
		if in.isList {
			name = strconv.Itoa(len(in.within))
		}
		at := &place{value: document[start:end:end]}
		in.within[name], in.hasName = at, false
		if delim, ok := token.(json.Delim); ok {
			at.within = map[string]*place{}
			open = append(open, container{place: at, start: start, isList: delim == '['})
		}
	}
}

// pointedAt returns the value at a JSON pointer given without its first slash, or nil.
func (p *place) pointedAt(path string) json.RawMessage {
	for name := range strings.SplitSeq(path, "/") {
		if p == nil {
			return nil
		}
		p = p.within[strings.ReplaceAll(strings.ReplaceAll(name, "~1", "/"), "~0", "~")]
	}
	if p == nil {
		return nil
	}
	return p.value
}
