package config

import (
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// field describes one field of a record.
type field struct {
	name, doc string
	index     []int
	typ       reflect.Type
	required  bool
	secret    bool
	query     bool // its values are parameters of a URL
	path      bool
	dir       bool // a path of a directory
	read      bool
	tenant    bool // texts may refer to variables of tenants
	byDefault string
	enum      []string
	leftOut   []string // enum values of a program with more components
	min, max  *float64
	pattern   *regexp.Regexp
	keys      string // pattern of a mapping's keys, checked by its record
	of        []string
	other     []spelling
	// when, if set, is the condition under which a text is required.
	when *condition
}

// condition requires that a record's text has a value, or does not.
type condition struct {
	field, value string
	negated      bool
}

// parseCondition parses the tag of a field that depends on another; nil without a tag.
func parseCondition(tag string) *condition {
	name, value, ok := strings.Cut(tag, "=")
	if !ok {
		return nil
	}
	name, negated := strings.CutSuffix(name, "!")
	return &condition{name, value, negated}
}

// spelling is another spelling of a time span: a number of units.
type spelling struct {
	name string
	unit time.Duration
}

// unitName returns the unit's name in a text.
func (s spelling) unitName() string {
	if s.unit == time.Millisecond {
		return "milliseconds"
	}
	return "seconds"
}

func newField(name string, sf reflect.StructField, index []int) *field {
	f := &field{
		name:      name,
		doc:       sf.Tag.Get("doc"),
		index:     index,
		typ:       sf.Type,
		required:  sf.Tag.Get("required") == "true",
		when:      parseCondition(sf.Tag.Get("required")),
		secret:    sf.Tag.Get("secret") == "true",
		query:     sf.Tag.Get("secret") == "query",
		path:      sf.Tag.Get("path") != "",
		dir:       sf.Tag.Get("path") == "dir",
		read:      sf.Tag.Get("path") == "read",
		keys:      sf.Tag.Get("keys"),
		tenant:    sf.Tag.Get("variables") == "tenant",
		byDefault: sf.Tag.Get("default"),
		enum:      splitTag(sf.Tag.Get("enum"), "|"),
		of:        splitTag(sf.Tag.Get("of"), "|"),
		min:       parseLimit(sf.Tag.Get("min")),
		max:       parseLimit(sf.Tag.Get("max")),
	}
	if pattern := sf.Tag.Get("pattern"); pattern != "" {
		if re, err := regexp.Compile(pattern); err == nil {
			f.pattern = re
		}
	}
	for _, s := range splitTag(sf.Tag.Get("alias"), ",") {
		name, unit, _ := strings.Cut(s, ":")
		switch unit {
		case "ms":
			f.other = append(f.other, spelling{name, time.Millisecond})
		case "s":
			f.other = append(f.other, spelling{name, time.Second})
		}
	}
	return f
}

// fieldValue returns the field of a struct. It need not create embedded pointers because only
// structs are embedded.
func (f *field) fieldValue(v reflect.Value) reflect.Value { return v.FieldByIndex(f.index) }

// otherSpelling returns the field's other spelling called name, or nil for the field's own name.
func (f *field) otherSpelling(name string) *spelling {
	for i := range f.other {
		if f.other[i].name == name {
			return &f.other[i]
		}
	}
	return nil
}

func parseLimit(tag string) *float64 {
	if v, err := strconv.ParseFloat(tag, 64); err == nil {
		return &v
	}
	return nil
}

func splitTag(list, separator string) []string {
	if list == "" {
		return nil
	}
	return strings.Split(list, separator)
}

// elementField returns the description of the elements of a list or mapping.
func (f *field) elementField() *field {
	if len(f.enum) == 0 && f.pattern == nil && !f.secret && !f.query && !f.path && !f.tenant {
		return plain
	}
	return &field{enum: f.enum, pattern: f.pattern, secret: f.secret, query: f.query, path: f.path, dir: f.dir, read: f.read, tenant: f.tenant}
}

func formatNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// plain describes elements without limits.
var plain = &field{}

// joinAlternatives joins names as in "a, b or c".
func joinAlternatives(names []string) string {
	switch len(names) {
	case 0:
		return "none"
	case 1:
		return names[0]
	default:
		return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
	}
}
