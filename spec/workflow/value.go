package workflow

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
)

// Value is the source of a value: a constant, a reference, or a composition of other values.
type Value struct {
	// At most one of these is set; if none is, Constant is used.
	Template *Template
	Ref      *Ref
	Fields   map[string]*Value
	Items    []*Value
	// Constant is a JSON value.
	Constant any

	// at is the path of the value below the outermost one.
	at string
}

// forms are the keys of a one-key mapping that name the form of a value. The HTTP API uses the
// camel case names.
var forms = []string{"literal", "object", "array", "template", "input", "signal", "step_output", "stepOutput", "step_input", "stepInput"}

// ParseValue parses an encoded value: a text is a template, a mapping with one key that names a
// form has that form, and the contents of mappings and lists are values. The paths of the
// diagnostics are relative to the value.
func ParseValue(raw json.RawMessage) (*Value, diag.List) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, diag.List{diag.New(diag.InvalidValue, "", "the value is not JSON: %v", err)}
	}
	p := new(valueParser)
	return p.parse(v, ""), p.found
}

// valueParser collects the problems of a value.
type valueParser struct{ found diag.List }

func (p *valueParser) add(d diag.Diagnostic) *Value {
	p.found = append(p.found, d)
	return &Value{}
}

// parse reads the value at a path.
func (p *valueParser) parse(v any, path string) *Value {
	parsed := p.parseAny(v, path)
	if parsed.at == "" {
		parsed.at = path
	}
	return parsed
}

func (p *valueParser) parseAny(v any, path string) *Value {
	switch v := v.(type) {
	case string:
		return p.parseTemplate(v, path)
	case []any:
		return p.parseItems(v, path)
	case map[string]any:
		if len(v) == 1 {
			for _, form := range forms {
				if content, ok := v[form]; ok {
					parsed := p.parseForm(form, content, diag.Key(path, form))
					parsed.at = diag.Key(path, form)
					return parsed
				}
			}
		}
		return p.parseFields(v, path)
	default:
		return &Value{Constant: v}
	}
}

func (p *valueParser) parseTemplate(text, path string) *Value {
	t, err := ParseTemplate(text)
	if err != nil {
		return p.add(diag.New(diag.InvalidTemplate, path, "%v", err).WithHint("write $${{ for a plain ${{"))
	}
	if ref := t.Single(); ref != nil {
		return &Value{Ref: ref}
	}
	return &Value{Template: &t}
}

func (p *valueParser) parseItems(list []any, path string) *Value {
	items := make([]*Value, len(list))
	for i, item := range list {
		items[i] = p.parse(item, diag.Index(path, i))
	}
	return &Value{Items: items}
}

func (p *valueParser) parseFields(fields map[string]any, path string) *Value {
	all := make(map[string]*Value, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		all[name] = p.parse(fields[name], diag.Key(path, name))
	}
	return &Value{Fields: all}
}

// parseForm reads the content of a mapping that names its form.
func (p *valueParser) parseForm(form string, content any, path string) *Value {
	switch form {
	case "literal":
		return &Value{Constant: content}
	case "object":
		fields, ok := content.(map[string]any)
		if !ok {
			return p.add(diag.New(diag.InvalidValue, path, "object must be a mapping of values"))
		}
		return p.parseFields(fields, path)
	case "array":
		items, ok := content.([]any)
		if !ok {
			return p.add(diag.New(diag.InvalidValue, path, "array must be a list of values"))
		}
		return p.parseItems(items, path)
	case "step_output", "stepOutput":
		return p.parseStepOutput(content, path)
	}
	text, ok := content.(string)
	if !ok {
		return p.add(diag.New(diag.InvalidValue, path, "%s must be a text", form))
	}
	switch form {
	case "template":
		t, err := ParseTemplate(text)
		if err != nil {
			return p.add(diag.New(diag.InvalidTemplate, path, "%v", err).WithHint("write $${{ for a plain ${{"))
		}
		return &Value{Template: &t}
	case "input":
		return p.parsePath(rootInput, text, path)
	case "signal":
		return p.parsePath(rootSignal, text, path)
	default:
		return p.parsePath(rootInputs, text, path)
	}
}

// parsePath reads a reference that is written as the path below its root.
func (p *valueParser) parsePath(root Root, text, path string) *Value {
	below, err := parsePath(text)
	if err == nil && root == rootInputs && (len(below) == 0 || below[0].IsIndex) {
		return p.add(diag.New(diag.InvalidTemplate, path, "it names no input of the step"))
	}
	if err != nil {
		return p.add(diag.New(diag.InvalidTemplate, path, "the path %q cannot be read: %v", clip.Text(text), err))
	}
	return &Value{Ref: &Ref{Root: root, Path: below}}
}

// parseStepOutput reads {step_id: …, path: …}.
func (p *valueParser) parseStepOutput(content any, path string) *Value {
	fields, ok := content.(map[string]any)
	if !ok {
		return p.add(diag.New(diag.InvalidValue, path, "step_output must be a mapping with step_id and path"))
	}
	ref := &Ref{Root: rootSteps}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		text, isText := fields[name].(string)
		switch {
		case name != "step_id" && name != "stepId" && name != "path":
			p.add(diag.New(diag.UnknownField, diag.Key(path, name), "unknown field %q", clip.Text(name)).WithHint("allowed are step_id and path"))
		case !isText:
			p.add(diag.New(diag.InvalidValue, diag.Key(path, name), "%s must be a text", name))
		case name != "path":
			ref.Step = text
		default:
			below, err := parsePath(text)
			if err != nil {
				p.add(diag.New(diag.InvalidTemplate, diag.Key(path, name), "the path %q cannot be read: %v", clip.Text(text), err))
			}
			ref.Path = below
		}
	}
	if ref.Step == "" && len(p.found) == 0 {
		return p.add(diag.New(diag.MissingField, diag.Key(path, "step_id"), "step_id is required"))
	}
	return &Value{Ref: ref}
}

// EachRef calls yield for each reference of the value, in a fixed order, with the path of the
// containing value relative to the outermost one.
func (v *Value) EachRef(yield func(path string, ref *Ref)) {
	switch {
	case v == nil:
	case v.Ref != nil:
		yield(v.at, v.Ref)
	case v.Template != nil:
		for _, ref := range v.Template.Refs() {
			yield(v.at, ref)
		}
	case v.Fields != nil:
		for _, name := range slices.Sorted(maps.Keys(v.Fields)) {
			v.Fields[name].EachRef(yield)
		}
	default:
		for _, item := range v.Items {
			item.EachRef(yield)
		}
	}
}

// IsConstant returns the value's constant result; ok reports whether it is the same in every run.
func (v *Value) IsConstant() (constant any, ok bool) {
	ok = true
	v.EachRef(func(string, *Ref) { ok = false })
	if !ok {
		return nil, false
	}
	constant, err := v.Evaluate(new(Scope))
	return constant, err == nil
}

// Types returns the possible types of the value in JSON Schema terms, given the inputs of its step
// and the answers of earlier steps; nil if unknown.
func (v *Value) Types(s *Step, earlier []Step) []string {
	switch {
	case v.Template != nil:
		return []string{"string"}
	case v.Fields != nil:
		return []string{"object"}
	case v.Items != nil:
		return []string{"array"}
	case v.Ref == nil:
		return nil
	}
	switch v.Ref.Root {
	case rootInputs:
		if len(v.Ref.Path) > 1 {
			return nil
		}
		of, found := ParseValue(s.Inputs[v.Ref.Path[0].Name])
		if len(found) > 0 || of.Ref != nil && of.Ref.Root == rootInputs {
			return nil
		}
		return of.Types(s, earlier)
	case rootSteps:
		for i := range earlier {
			if earlier[i].ID == v.Ref.Step {
				return earlier[i].outputTypes(v.Ref.Path)
			}
		}
	}
	return nil
}

// outputTypes returns the types of an output of the step; nil if unknown.
func (s *Step) outputTypes(path Path) []string {
	if s.Tool != nil {
		return nil
	}
	if raw := s.Schema(); raw != nil {
		return TypesAt(raw, path)
	}
	if len(path) == 0 {
		return []string{"object"}
	}
	return []string{"string"}
}
