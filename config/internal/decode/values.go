package decode

import (
	"encoding"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/yamltree"
	"github.com/agentruntime/agentruntime/spec"
)

// decodeValue decodes a value of any shape.
func (d *Decoder) decodeValue(f *record.Field, n *yamltree.Node, v reflect.Value, p *tree.Place) {
	switch record.ShapeOf(v.Type()) {
	case record.TextShape:
		d.decodeText(f, n, v, p)
	case record.BoolShape:
		if n.Kind != yamltree.Bool {
			found := d.reportMismatch(f, n, p, "true or false")
			if meant := truthOf(n); meant != "" {
				found.SetHint("write " + meant)
			}
			return
		}
		v.SetBool(strings.EqualFold(n.Text, "true"))
	case record.IntShape, record.UintShape, record.FloatShape:
		d.decodeNumber(f, n, v, p)
	case record.DurationShape:
		d.decodeDuration(f, n, v, p)
	case record.PromptShape:
		d.decodePrompt(f, n, v, p)
	case record.NamesShape:
		if n.Kind == yamltree.Null {
			v.Set(reflect.ValueOf(spec.Names{}))
			return
		}
		d.decodeList(f, n, v, p)
	case record.EffortShape:
		d.decodeEffort(f, n, v, p)
	case record.PointerShape:
		target, before := reflect.New(v.Type().Elem()), len(d.Found)
		d.decodeValue(f, n, target.Elem(), p)
		// A pointer that stays nil means the default; for a record, keep the part that was
		// readable.
		if !d.Found[before:].HasErrors() || record.ShapeOf(v.Type().Elem()) == record.RecordShape {
			v.Set(target)
		}
	case record.ListShape:
		d.decodeList(f, n, v, p)
	case record.MapShape:
		d.decodeMapping(f, n, v, p)
	case record.RecordShape:
		d.DecodeFields(record.Of(v.Type()), n, v, p, "")
	default:
		d.decodeCustom(f, n, v, p)
	}
}

// truthOf returns the truth value that n has in YAML 1.1 and other formats; empty if none.
func truthOf(n *yamltree.Node) string {
	switch strings.ToLower(n.Text) {
	case "yes", "on", "y", "true", "1":
		return "true"
	case "no", "off", "n", "false", "0":
		return "false"
	default:
		return ""
	}
}

func (d *Decoder) decodeList(f *record.Field, n *yamltree.Node, v reflect.Value, p *tree.Place) {
	if n.Kind != yamltree.Sequence {
		found := d.reportMismatch(f, n, p, "a list")
		if n.Kind == yamltree.String && v.Type().Elem().Kind() == reflect.String && !f.Secret {
			found.SetHint("write [" + elementsOf(n.Text, p) + "]")
		}
		if n.Kind == yamltree.Mapping && v.Type().Elem().Kind() == reflect.Struct {
			found.SetHint("begin each element with a dash, or write [{…}]")
		}
		return
	}
	length := float64(len(n.Children))
	if f.Min != nil && length < *f.Min || f.Max != nil && length > *f.Max {
		count := "1 element"
		if len(n.Children) != 1 {
			count = strconv.Itoa(len(n.Children)) + " elements"
		}
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s has %s; %s", p.Label(), count, describeBounds(f))
		return
	}
	list := reflect.MakeSlice(v.Type(), len(n.Children), len(n.Children))
	of := f.Element()
	for i, child := range n.Children {
		d.decodeValue(of, child, list.Index(i), p.Element(i))
	}
	v.Set(list)
}

// elementsOf formats a text as list elements: a command line as its words, anything else as one
// element.
func elementsOf(text string, p *tree.Place) string {
	if p == nil || p.Key != "command" || strings.ContainsAny(text, "\"'\\$") {
		return clip.Text(text)
	}
	words := strings.Fields(text)
	if slices.ContainsFunc(words, func(word string) bool { return word == "|" || word == "&&" }) {
		words = []string{"sh", "-c", text}
	}
	for i, word := range words {
		if !plainWord.MatchString(word) {
			words[i] = strconv.Quote(word)
		}
	}
	return clip.Text(strings.Join(words, ", "))
}

// plainWord matches text that needs no quotes inside a list.
var plainWord = regexp.MustCompile(`^[A-Za-z./_-][A-Za-z0-9./_=+-]*$`)

// describeBounds returns the allowed length of a list, for messages.
func describeBounds(f *record.Field) string {
	switch {
	case f.Max == nil:
		return "it must have " + record.FormatNumber(*f.Min) + " or more"
	case f.Min == nil:
		return "it can have at most " + record.FormatNumber(*f.Max)
	default:
		return "it must have " + record.FormatNumber(*f.Min) + " to " + record.FormatNumber(*f.Max)
	}
}

func (d *Decoder) decodeMapping(f *record.Field, n *yamltree.Node, v reflect.Value, p *tree.Place) {
	if n.Kind != yamltree.Mapping {
		d.reportMismatch(f, n, p, "a mapping")
		return
	}
	m := reflect.MakeMapWithSize(v.Type(), len(n.Children)/2)
	of := f.Element()
	for key, value := range n.Pairs {
		element := reflect.New(v.Type().Elem()).Elem()
		d.decodeValue(of, value, element, p.Field(key.Text, key))
		m.SetMapIndex(reflect.ValueOf(key.Text).Convert(v.Type().Key()), element)
	}
	v.Set(m)
}

// decodeCustom decodes into types that read JSON or text themselves.
func (d *Decoder) decodeCustom(f *record.Field, n *yamltree.Node, v reflect.Value, p *tree.Place) {
	var err error
	switch record.ShapeOf(v.Type()) {
	case record.RawShape:
		if raw, ok := d.encodeJSON(n, p); ok {
			v.SetBytes(raw)
		}
		return
	case record.AnyShape, record.CustomShape:
		raw, ok := d.encodeJSON(n, p)
		if !ok {
			return
		}
		err = json.Unmarshal(raw, v.Addr().Interface())
	case record.TextualShape:
		text, known, ok := d.readText(f, n, p)
		if !ok || !known {
			return
		}
		if u, is := v.Addr().Interface().(encoding.TextUnmarshaler); is {
			err = u.UnmarshalText([]byte(text))
		}
	default:
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s cannot be set in a file (its type %s is not supported)", p.Label(), v.Type())
		return
	}
	switch {
	case err != nil && f.Secret:
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s does not have the form it must have", p.Label())
	case err != nil:
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s: %v", p.Label(), err)
	}
}
