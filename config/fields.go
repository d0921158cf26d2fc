package config

import (
	"encoding"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/spec"
)

// shape is the form of a Go type's values in a file.
type shape uint8

const (
	unsupportedShape shape = iota
	textShape
	boolShape
	intShape
	uintShape
	floatShape
	durationShape
	promptShape
	namesShape
	effortShape
	rawShape     // any value, kept as JSON
	anyShape     // any value, decoded from its JSON
	textualShape // a text that the type parses itself
	customShape  // any value, which the type parses itself from JSON
	pointerShape
	listShape
	mapShape
	recordShape
)

// record describes the fields of a struct type.
type record struct {
	typ    reflect.Type
	fields []*field
	// byName finds fields by name and by their other spellings.
	byName map[string]*field
	// id is the field for the key of the surrounding mapping, or nil.
	id []int
	// variant is the field whose value decides which other fields apply, or nil.
	variant *field
	// required are the fields that must be there.
	required []*field
	// depending are the fields required depending on another one's value.
	depending []*field
	// leftOut are the fields that it would have in a program with more components.
	leftOut []string
}

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

var (
	promptType   = reflect.TypeFor[spec.Prompt]()
	namesType    = reflect.TypeFor[spec.Names]()
	effortType   = reflect.TypeFor[spec.Effort]()
	durationType = reflect.TypeFor[spec.Duration]()
	rawType      = reflect.TypeFor[json.RawMessage]()
	defaultsType = reflect.TypeFor[spec.Defaults]()

	jsonUnmarshaler = reflect.TypeFor[json.Unmarshaler]()
	textUnmarshaler = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// shapeOf returns the shape of a type.
func shapeOf(t reflect.Type) shape {
	switch t {
	case promptType:
		return promptShape
	case namesType:
		return namesShape
	case effortType:
		return effortShape
	case durationType, reflect.TypeFor[time.Duration]():
		return durationShape
	case rawType:
		return rawShape
	}
	if t.Kind() == reflect.Pointer {
		return pointerShape
	}
	switch p := reflect.PointerTo(t); {
	case p.Implements(jsonUnmarshaler):
		return customShape
	case p.Implements(textUnmarshaler):
		return textualShape
	}
	return plainShape(t)
}

func plainShape(t reflect.Type) shape {
	switch t.Kind() {
	case reflect.String:
		return textShape
	case reflect.Bool:
		return boolShape
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return intShape
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return uintShape
	case reflect.Float32, reflect.Float64:
		return floatShape
	case reflect.Slice:
		return listShape
	case reflect.Map:
		if t.Key().Kind() == reflect.String {
			return mapShape
		}
	case reflect.Struct:
		return recordShape
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return anyShape
		}
	}
	return unsupportedShape
}

// records caches the description of each type.
var records sync.Map // reflect.Type → *record

// recordOf returns the description of a struct type.
func recordOf(t reflect.Type) *record {
	if known, ok := records.Load(t); ok {
		return known.(*record) //nolint:forcetypeassert // the map holds nothing else
	}
	r := &record{typ: t, byName: map[string]*field{}}
	r.addStructFields(t, nil)
	known, _ := records.LoadOrStore(t, r)
	return known.(*record) //nolint:forcetypeassert // as above
}

// omitted are fields that a record has in Go only.
var omitted = map[reflect.Type][]string{
	// A default endpoint would make every agent remote.
	defaultsType: {"endpoint"},
}

// addStructFields adds the fields of a struct type, including fields of embedded structs.
func (r *record) addStructFields(t reflect.Type, index []int) {
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(append([]int(nil), index...), i)
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Struct && shapeOf(sf.Type) == recordShape {
			r.addStructFields(sf.Type, at)
			continue
		}
		if !sf.IsExported() || name == "-" {
			continue
		}
		if name == "" {
			name = sf.Name
		}
		if sf.Tag.Get("key") == "true" {
			if name == "id" && sf.Type.Kind() == reflect.String {
				r.id = at
			}
			continue
		}
		if !slices.Contains(omitted[r.typ], name) {
			r.addField(newField(name, sf, at))
		}
	}
}

func (r *record) addField(f *field) {
	if _, taken := r.byName[f.name]; taken {
		return // as in Go, the outer field hides the embedded one
	}
	r.fields = append(r.fields, f)
	r.byName[f.name] = f
	for _, s := range f.other {
		r.byName[s.name] = f
	}
	if f.required {
		r.required = append(r.required, f)
	}
	if f.when != nil {
		r.depending = append(r.depending, f)
	}
	if len(f.of) > 0 || f.name == "type" {
		r.variant = nil
		for _, f := range r.fields {
			if len(f.of) > 0 {
				r.variant = r.byName["type"]
			}
		}
	}
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

// fieldNames returns the field names allowed for a variant of a record; an empty variant returns
// all of them.
func (r *record) fieldNames(variant string) []string {
	var names []string
	for _, f := range r.fields {
		if variant == "" || len(f.of) == 0 || slices.Contains(f.of, variant) {
			names = append(names, f.name)
			for _, s := range f.other {
				names = append(names, s.name)
			}
		}
	}
	return names
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

// wordStart matches word boundaries in a type name: an upper-case letter after a lower-case one,
// and the last of several upper-case letters before a lower-case one.
var wordStart = regexp.MustCompile(`([a-z])([A-Z])|([A-Z0-9])([A-Z][a-z])`)

// recordName returns the display name of a type: server_tls for ServerTLS.
func recordName(t reflect.Type) string {
	name := strings.ReplaceAll(t.Name(), "OAuth", "Oauth") // one word despite its capitals
	return strings.ToLower(wordStart.ReplaceAllString(name, "${1}${3}_${2}${4}"))
}

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

// withoutFields returns the description with fewer fields.
func (r *record) withoutFields(names []string) *record {
	other := &record{typ: r.typ, byName: map[string]*field{}, leftOut: names}
	for _, f := range r.fields {
		if !slices.Contains(names, f.name) {
			other.addField(f)
		}
	}
	return other
}
