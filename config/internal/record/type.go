package record

import (
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/agentruntime/agentruntime/spec"
)

// Type describes the fields of a struct type.
type Type struct {
	Go     reflect.Type
	Fields []*Field
	// ByName finds fields by name and by their other spellings.
	ByName map[string]*Field
	// ID is the field for the key of the surrounding mapping, or nil.
	ID []int
	// Variant is the field whose value decides which other fields apply, or nil.
	Variant *Field
	// Required are the fields that must be there.
	Required []*Field
	// Depending are the fields required depending on another one's value.
	Depending []*Field
	// LeftOut are the fields that it would have in a program with more components.
	LeftOut []string
}

// records caches the description of each type.
var records sync.Map // reflect.Type → *Type

// Of returns the description of a struct type.
func Of(t reflect.Type) *Type {
	if known, ok := records.Load(t); ok {
		return known.(*Type) //nolint:forcetypeassert // the map holds nothing else
	}
	r := &Type{Go: t, ByName: map[string]*Field{}}
	r.addStructFields(t, nil)
	known, _ := records.LoadOrStore(t, r)
	return known.(*Type) //nolint:forcetypeassert // as above
}

// omitted are fields that a record has in Go only.
var omitted = map[reflect.Type][]string{
	// A default endpoint would make every agent remote.
	reflect.TypeFor[spec.Defaults](): {"endpoint"},
}

// addStructFields adds the fields of a struct type, including fields of embedded structs.
func (r *Type) addStructFields(t reflect.Type, index []int) {
	for i := range t.NumField() {
		sf := t.Field(i)
		at := append(append([]int(nil), index...), i)
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		if sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Struct && ShapeOf(sf.Type) == RecordShape {
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
				r.ID = at
			}
			continue
		}
		if !slices.Contains(omitted[r.Go], name) {
			r.addField(newField(name, sf, at))
		}
	}
}

func (r *Type) addField(f *Field) {
	if _, taken := r.ByName[f.Name]; taken {
		return // as in Go, the outer field hides the embedded one
	}
	r.Fields = append(r.Fields, f)
	r.ByName[f.Name] = f
	for _, s := range f.Spellings {
		r.ByName[s.Name] = f
	}
	if f.Required {
		r.Required = append(r.Required, f)
	}
	if f.When != nil {
		r.Depending = append(r.Depending, f)
	}
	if len(f.Of) > 0 || f.Name == "type" {
		r.Variant = nil
		for _, f := range r.Fields {
			if len(f.Of) > 0 {
				r.Variant = r.ByName["type"]
			}
		}
	}
}

// Names returns the field names allowed for a variant of a record; an empty variant returns
// all of them.
func (r *Type) Names(variant string) []string {
	var names []string
	for _, f := range r.Fields {
		if variant == "" || len(f.Of) == 0 || slices.Contains(f.Of, variant) {
			names = append(names, f.Name)
			for _, s := range f.Spellings {
				names = append(names, s.Name)
			}
		}
	}
	return names
}

// WithChoices returns the description with only these values of a field.
func (r *Type) WithChoices(name string, values []string) *Type {
	choice := *r.ByName[name]
	choice.Enum, choice.LeftOut = values, missingFrom(values, choice.Enum)
	if !slices.Contains(values, choice.Default) {
		choice.Default = ""
	}
	other := &Type{Go: r.Go, ByName: map[string]*Field{}}
	for _, f := range r.Fields {
		if f.Name == name {
			f = &choice
		}
		other.addField(f)
	}
	return other
}

// WithoutFields returns the description without the fields called names, except for kept ones.
func (r *Type) WithoutFields(names, kept []string) *Type {
	other := &Type{Go: r.Go, ByName: map[string]*Field{}, LeftOut: missingFrom(kept, names)}
	for _, f := range r.Fields {
		if !slices.Contains(other.LeftOut, f.Name) {
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

// NameOf returns the display name of a type: server_tls for ServerTLS.
func NameOf(t reflect.Type) string {
	name := strings.ReplaceAll(t.Name(), "OAuth", "Oauth") // one word despite its capitals
	return strings.ToLower(wordStart.ReplaceAllString(name, "${1}${3}_${2}${4}"))
}
