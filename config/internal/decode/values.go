package decode

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/agentruntime/agentruntime/config/internal/expand"
	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
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

// reportMismatch reports a value of the wrong type.
func (d *Decoder) reportMismatch(f *record.Field, n *yamltree.Node, p *tree.Place, want string) Reported {
	found := d.AddDiagnostic(diag.InvalidValue, p, n, "%s must be %s, not %s", p.Label(), want, n.Describe(f.Secret))
	if f.Secret {
		d.HideSecrets(n, true)
	}
	return found
}

// readText returns the expanded text of a value. ok is false if the value is not a text or cannot
// be expanded. known is false if a variable is unset, so that the text cannot be checked.
func (d *Decoder) readText(f *record.Field, n *yamltree.Node, p *tree.Place) (text string, known, ok bool) {
	switch n.Kind {
	case yamltree.String:
	case yamltree.Bool, yamltree.Int, yamltree.Float:
		found := d.reportMismatch(f, n, p, "a text")
		switch {
		case f.Secret:
			found.SetHint("write it in quotes")
		case n.Kind == yamltree.Int && p != nil && strings.HasSuffix(p.Key, "listen"):
			found.SetHint("write host:port, such as \"127.0.0.1:" + clip.Text(n.Text) + "\"")
		default:
			found.SetHint(fmt.Sprintf("write it in quotes: %q", clip.Text(n.Text)))
		}
		return "", false, false
	default:
		d.reportMismatch(f, n, p, "a text")
		return "", false, false
	}
	text, known, ok = d.expandText(sensitivityOf(f, p), n, p)
	if f.Query && ok && !secret.IsReference(n.Text) {
		d.AddSecret(n)
	}
	if f.Secret && ok {
		d.Tree.Redactor.AddSecret(text)
		d.AddSecret(n)
	}
	return text, known, ok
}

// expandText expands a node's text and checks the text as written.
func (d *Decoder) expandText(kind sensitivity, n *yamltree.Node, p *tree.Place) (text string, known, ok bool) {
	if d.checkSpelling(kind, n, p) {
		return "", false, false
	}
	d.checkPlainSecret(kind, n, p)
	if kind != ordinary {
		d.Tree.Noted.Of(n).IsSecret = true
	}
	if strings.IndexByte(n.Text, '$') < 0 {
		return n.Text, true, true
	}
	x := d.Expander.Expand(n.Text, d.Tree.DirOf(n))
	for _, hidden := range x.Hidden {
		d.Tree.Redactor.AddValue(hidden)
	}
	if x.Err != nil {
		found := d.AddDiagnostic(diag.InvalidValue, p, n, "%s: %v", p.Label(), x.Err)
		if x.Meant != "" {
			found.SetHint("write ${" + x.Meant + "}")
		}
		return "", false, false
	}
	for i, name := range x.Unset {
		if slices.Contains(x.Unset[:i], name) {
			continue
		}
		found := diag.New(diag.UnsetVariable, p.Path(), "the variable %s is not set", name).
			WithHint("set it, or write ${%s:-default}%s", name, argumentHint(p, name))
		if d.Strict {
			found.Severity = diag.Error
		}
		d.AddFinding(found, n)
	}
	if kind == credential && isQuoted(x.Text) {
		found := diag.New(diag.InvalidValue, p.Path(), "the variable in %s has quotes around its value, which are sent with it", p.Label()).
			WithHint("remove the quotes from the environment")
		found.Severity = diag.Warning
		d.AddFinding(found, n)
	}
	return x.Text, len(x.Unset) == 0, true
}

// argumentHint continues the hint about an unset variable in a tool, where the author may have
// meant a call argument.
func argumentHint(p *tree.Place, name string) string {
	if !strings.HasPrefix(p.Path(), "tools.") || strings.ToLower(name) != name {
		return ""
	}
	return "; an argument of the call is written {{" + name + "}}"
}

// isQuoted reports whether text begins and ends with the same quotation mark.
func isQuoted(text string) bool {
	end := len(text) - 1
	return end > 0 && text[0] == text[end] && (text[0] == '"' || text[0] == '\'')
}

func (d *Decoder) decodeText(f *record.Field, n *yamltree.Node, v reflect.Value, p *tree.Place) {
	if f.Tenant {
		d.Expander.Scopes = tenantScopes
		defer func() { d.Expander.Scopes = nil }()
	}
	text, known, ok := d.readText(f, n, p)
	if !ok {
		return
	}
	if known && !d.checkText(f, n, text, p) {
		return
	}
	if f.Path {
		d.Tree.Noted.Of(n).IsPath = true
		text = expand.RelativeTo(d.Tree.DirOf(n), text)
	}
	if f.Dir && known && strings.TrimSpace(text) != "" {
		d.checkDirectory(n, text, p)
	}
	if f.Read {
		d.Tree.AddReferredFile(text)
	}
	v.SetString(text)
}

// checkDirectory notes a directory that does not exist.
func (d *Decoder) checkDirectory(n *yamltree.Node, name string, p *tree.Place) {
	info, err := os.Stat(name)
	switch {
	case err == nil && !info.IsDir(), errors.Is(err, syscall.ENOTDIR):
		d.AddDiagnostic(diag.MissingDirectory, p, n, "%s is %s, which is not a directory", p.Label(), strconv.Quote(clip.Text(n.Text)))
	case errors.Is(err, fs.ErrNotExist):
		d.AddDiagnostic(diag.MissingDirectory, p, n, "%s is %s, which does not exist on this machine", p.Label(), strconv.Quote(clip.Text(n.Text))).
			SetHint("create the directory, or correct the path")
	}
}

// checkText checks a text against the enum and the pattern of its field.
func (d *Decoder) checkText(f *record.Field, n *yamltree.Node, text string, p *tree.Place) bool {
	switch {
	case slices.Contains(f.LeftOut, text):
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s is %s, but this program was built without it", p.Label(), quoteValue(f, n)).SetHint(ListLinked(f.Enum))
		return false
	case len(f.Enum) > 0 && !slices.Contains(f.Enum, text):
		found := d.AddDiagnostic(diag.InvalidValue, p, n, "%s cannot be %s; allowed are %s", p.Label(), quoteValue(f, n), record.Alternatives(f.Enum))
		if near, ok := nearest.Of(text, f.Enum); ok {
			found.SetHint(didYouMean(near))
		}
		return false
	case f.Pattern != nil && !f.Pattern.MatchString(text):
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s cannot be %s; it must match %s", p.Label(), quoteValue(f, n), f.Pattern)
		return false
	}
	return true
}

// quoteValue returns a text as written in the file.
func quoteValue(f *record.Field, n *yamltree.Node) string {
	if f.Secret {
		return "that text"
	}
	return strconv.Quote(clip.Text(n.Text))
}

func (d *Decoder) decodeNumber(f *record.Field, n *yamltree.Node, v reflect.Value, p *tree.Place) {
	want := "a whole number"
	if record.ShapeOf(v.Type()) == record.FloatShape {
		want = "a number"
	}
	if n.Kind != yamltree.Int && n.Kind != yamltree.Float {
		d.notNumber(f, n, p, want)
		return
	}
	number, err := ParseNumber(n.Text)
	if err != nil {
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s: %v", p.Label(), err)
		return
	}
	if !d.inRange(f, n, number.asFloat(), p) {
		return
	}
	if !number.storeIn(v) {
		if _, whole := number.asInt(); whole || want == "a number" {
			d.AddDiagnostic(diag.InvalidValue, p, n, "%s is %s, which is too large or too small", p.Label(), clip.Text(n.Text))
			return
		}
		d.reportMismatch(f, n, p, want)
	}
}

// notNumber reports a value that is not a number.
func (d *Decoder) notNumber(f *record.Field, n *yamltree.Node, p *tree.Place, want string) {
	found := d.reportMismatch(f, n, p, want)
	if n.Kind != yamltree.String {
		return
	}
	if _, err := ParseNumber(n.Text); err == nil {
		found.SetHint("write it without quotes")
	} else if strings.Contains(n.Text, "${") {
		found.SetHint("variables give texts, never numbers")
	} else if bare := strings.TrimSpace(currency.ReplaceAllString(n.Text, "")); bare != n.Text {
		if _, err := ParseNumber(bare); err == nil && !f.Secret {
			found.SetHint("write " + bare)
		}
	}
}

// currency matches currency symbols and codes, which amounts must not contain.
var currency = regexp.MustCompile(`(?i)[$€£¥]|\b(?:usd|eur|gbp)\b`)

// inRange checks a number against the limits of its field.
func (d *Decoder) inRange(f *record.Field, n *yamltree.Node, v float64, p *tree.Place) bool {
	switch {
	case f.Min != nil && f.Max != nil && (v < *f.Min || v > *f.Max):
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s is %s; it must be between %s and %s", p.Label(), clip.Text(n.Text), record.FormatNumber(*f.Min), record.FormatNumber(*f.Max))
	case f.Min != nil && v < *f.Min:
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s is %s; it must be %s or more", p.Label(), clip.Text(n.Text), record.FormatNumber(*f.Min))
	case f.Max != nil && v > *f.Max:
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s is %s; it must be %s or less", p.Label(), clip.Text(n.Text), record.FormatNumber(*f.Max))
	default:
		return true
	}
	return false
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
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s has %s; %s", p.Label(), countNoun(len(n.Children), "element"), describeBounds(f))
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

// countNoun returns a count with its noun: 1 word, 2 words. form, if given, is the plural.
func countNoun(n int, noun string, form ...string) string {
	switch {
	case n == 1:
		return "1 " + noun
	case len(form) > 0:
		return strconv.Itoa(n) + " " + form[0]
	default:
		return strconv.Itoa(n) + " " + noun + "s"
	}
}
