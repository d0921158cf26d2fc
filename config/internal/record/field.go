package record

import (
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Field describes one field of a record.
type Field struct {
	Name, Doc string
	index     []int
	Type      reflect.Type
	Required  bool
	Secret    bool
	Query     bool // its values are parameters of a URL
	Path      bool
	Dir       bool // a path of a directory
	Read      bool
	Tenant    bool   // texts may refer to variables of tenants
	Default   string // what its absence means
	Enum      []string
	LeftOut   []string // enum values of a program with more components
	Min, Max  *float64
	Pattern   *regexp.Regexp
	Keys      string   // pattern of a mapping's keys, checked by its record
	Of        []string // the values of the field type that it belongs to
	Spellings []Spelling
	// When, if set, is the condition under which a text is required.
	When *Condition
}

// Condition requires that a record's text has a value, or does not.
type Condition struct {
	Field, Value string
	Negated      bool
}

// parseCondition parses the tag of a field that depends on another; nil without a tag.
func parseCondition(tag string) *Condition {
	name, value, ok := strings.Cut(tag, "=")
	if !ok {
		return nil
	}
	name, negated := strings.CutSuffix(name, "!")
	return &Condition{name, value, negated}
}

// Spelling is another spelling of a time span: a number of units.
type Spelling struct {
	Name string
	Unit time.Duration
}

// UnitName returns the unit's name in a text.
func (s Spelling) UnitName() string {
	if s.Unit == time.Millisecond {
		return "milliseconds"
	}
	return "seconds"
}

func newField(name string, sf reflect.StructField, index []int) *Field {
	f := &Field{
		Name:     name,
		Doc:      sf.Tag.Get("doc"),
		index:    index,
		Type:     sf.Type,
		Required: sf.Tag.Get("required") == "true",
		When:     parseCondition(sf.Tag.Get("required")),
		Secret:   sf.Tag.Get("secret") == "true",
		Query:    sf.Tag.Get("secret") == "query",
		Path:     sf.Tag.Get("path") != "",
		Dir:      sf.Tag.Get("path") == "dir",
		Read:     sf.Tag.Get("path") == "read",
		Keys:     sf.Tag.Get("keys"),
		Tenant:   sf.Tag.Get("variables") == "tenant",
		Default:  sf.Tag.Get("default"),
		Enum:     splitTag(sf.Tag.Get("enum"), "|"),
		Of:       splitTag(sf.Tag.Get("of"), "|"),
		Min:      parseLimit(sf.Tag.Get("min")),
		Max:      parseLimit(sf.Tag.Get("max")),
	}
	if pattern := sf.Tag.Get("pattern"); pattern != "" {
		if re, err := regexp.Compile(pattern); err == nil {
			f.Pattern = re
		}
	}
	for _, s := range splitTag(sf.Tag.Get("alias"), ",") {
		name, unit, _ := strings.Cut(s, ":")
		switch unit {
		case "ms":
			f.Spellings = append(f.Spellings, Spelling{name, time.Millisecond})
		case "s":
			f.Spellings = append(f.Spellings, Spelling{name, time.Second})
		}
	}
	return f
}

// ValueIn returns the field of a struct. It need not create embedded pointers because only
// structs are embedded.
func (f *Field) ValueIn(v reflect.Value) reflect.Value { return v.FieldByIndex(f.index) }

// OtherSpelling returns the field's other spelling called name, or nil for the field's own name.
func (f *Field) OtherSpelling(name string) *Spelling {
	for i := range f.Spellings {
		if f.Spellings[i].Name == name {
			return &f.Spellings[i]
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

// Element returns the description of the elements of a list or mapping.
func (f *Field) Element() *Field {
	if len(f.Enum) == 0 && f.Pattern == nil && !f.Secret && !f.Query && !f.Path && !f.Tenant {
		return Plain
	}
	return &Field{Enum: f.Enum, Pattern: f.Pattern, Secret: f.Secret, Query: f.Query, Path: f.Path, Dir: f.Dir, Read: f.Read, Tenant: f.Tenant}
}

// FormatNumber writes a limit without an exponent.
func FormatNumber(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// Plain describes elements without limits.
var Plain = &Field{}

// Alternatives joins names as in "a, b or c".
func Alternatives(names []string) string {
	switch len(names) {
	case 0:
		return "none"
	case 1:
		return names[0]
	default:
		return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
	}
}
