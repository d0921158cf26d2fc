package config

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentruntime/agentruntime/spec"
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
	reflect.TypeFor[spec.Defaults](): {"endpoint"},
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

// withChoices returns the description with only these values of a field.
func (r *record) withChoices(name string, values []string) *record {
	choice := *r.byName[name]
	choice.enum, choice.leftOut = values, missingFrom(values, choice.enum)
	if !slices.Contains(values, choice.byDefault) {
		choice.byDefault = ""
	}
	other := &record{typ: r.typ, byName: map[string]*field{}}
	for _, f := range r.fields {
		if f.name == name {
			f = &choice
		}
		other.addField(f)
	}
	return other
}

// withoutFields returns the description without the fields called names, except for kept ones.
func (r *record) withoutFields(names, kept []string) *record {
	other := &record{typ: r.typ, byName: map[string]*field{}, leftOut: missingFrom(kept, names)}
	for _, f := range r.fields {
		if !slices.Contains(other.leftOut, f.name) {
			other.addField(f)
		}
	}
	return other
}

// missingFrom returns the names missing from a list.
func missingFrom(list, names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(list, name) })
}

// wordStart matches word boundaries in a type name: an upper-case letter after a lower-case one,
// and the last of several upper-case letters before a lower-case one.
var wordStart = regexp.MustCompile(`([a-z])([A-Z])|([A-Z0-9])([A-Z][a-z])`)

// recordName returns the display name of a type: server_tls for ServerTLS.
func recordName(t reflect.Type) string {
	name := strings.ReplaceAll(t.Name(), "OAuth", "Oauth") // one word despite its capitals
	return strings.ToLower(wordStart.ReplaceAllString(name, "${1}${3}_${2}${4}"))
}
