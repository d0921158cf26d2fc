package workflow

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/clip"
)

// Root is the first part of a reference.
type Root string

// The roots.
const (
	// rootInput is the input of the run.
	rootInput Root = "input"
	// rootSignal is what started the run: an event, or the due time of a schedule.
	rootSignal Root = "signal"
	// rootSteps are the outputs of an earlier step.
	rootSteps Root = "steps"
	// rootInputs are the inputs of the step itself.
	rootInputs Root = "inputs"
)

// Ref is a reference to a value: ${{ input.x }}, ${{ signal.x }},
// ${{ steps.ID.outputs.x }} or ${{ inputs.NAME }}.
type Ref struct {
	Root Root
	// Step is the id of the step of rootSteps.
	Step string
	// Path is the path of the value below the root.
	Path Path
}

// Path is the path of a part of a value: names of fields and positions in lists.
type Path []Segment

// Segment is one element of a path.
type Segment struct {
	// Name is the name of a field; Index is the position in a list if IsIndex is set.
	Name    string
	Index   int
	IsIndex bool
}

// Template is a text with references. The zero value is the empty text.
type Template struct {
	parts []part
}

// part is a text, or a reference.
type part struct {
	text string
	ref  *Ref
}

const (
	refBegin = "${{"
	refEnd   = "}}"
	// refEscape is the escaped form of refBegin.
	refEscape = "$${{"
)

// ParseTemplate reads a text: ${{ … }} is a reference, and $${{ is a plain ${{.
func ParseTemplate(text string) (Template, error) {
	var t Template
	var plain strings.Builder
	for text != "" {
		i := strings.Index(text, refBegin)
		if i < 0 {
			plain.WriteString(text)
			break
		}
		if i > 0 && text[i-1] == '$' {
			plain.WriteString(text[:i-1] + refBegin)
			text = text[i+len(refBegin):]
			continue
		}
		plain.WriteString(text[:i])
		text = text[i+len(refBegin):]
		end := strings.Index(text, refEnd)
		if end < 0 {
			return Template{}, fmt.Errorf("the reference %q lacks its closing }}", clip.Text(refBegin+text))
		}
		ref, err := parseRef(text[:end])
		if err != nil {
			return Template{}, err
		}
		t.addText(&plain)
		t.parts = append(t.parts, part{ref: ref})
		text = text[end+len(refEnd):]
	}
	t.addText(&plain)
	return t, nil
}

// addText adds the text that was collected.
func (t *Template) addText(plain *strings.Builder) {
	if plain.Len() > 0 {
		t.parts = append(t.parts, part{text: plain.String()})
		plain.Reset()
	}
}

// Refs returns the references of the template in order.
func (t Template) Refs() []*Ref {
	var list []*Ref
	for i := range t.parts {
		if t.parts[i].ref != nil {
			list = append(list, t.parts[i].ref)
		}
	}
	return list
}

// Single returns the reference if it is the whole template, or nil.
func (t Template) Single() *Ref {
	if len(t.parts) != 1 {
		return nil
	}
	return t.parts[0].ref
}

// String returns a text that parses as the template.
func (t Template) String() string {
	var out strings.Builder
	for i := range t.parts {
		if ref := t.parts[i].ref; ref != nil {
			out.WriteString(refBegin + " " + ref.String() + " " + refEnd)
		} else {
			out.WriteString(strings.ReplaceAll(t.parts[i].text, refBegin, refEscape))
		}
	}
	return out.String()
}

// parseRef reads a reference without its braces.
func parseRef(text string) (*Ref, error) {
	path, err := parsePath(strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("the reference %q cannot be read: %w", clip.Text(strings.TrimSpace(text)), err)
	}
	if len(path) == 0 {
		return nil, errors.New("a reference is empty; write ${{ input.NAME }}, ${{ signal.NAME }}, ${{ inputs.NAME }} or ${{ steps.ID.outputs.NAME }}")
	}
	r := &Ref{Root: Root(path[0].Name), Path: path[1:]}
	switch {
	case path[0].IsIndex:
		r.Root = ""
	case r.Root == rootInput, r.Root == rootSignal:
		return r, nil
	case r.Root == rootInputs:
		if len(r.Path) == 0 || r.Path[0].IsIndex {
			return nil, fmt.Errorf("the reference %q names no input; write inputs.NAME", clip.Text(text))
		}
		return r, nil
	case r.Root == rootSteps:
		if len(path) < 3 || path[1].IsIndex || path[2].IsIndex || path[2].Name != "outputs" {
			return nil, fmt.Errorf("the reference %q does not name the outputs of a step; write steps.ID.outputs.NAME", clip.Text(strings.TrimSpace(text)))
		}
		r.Step, r.Path = path[1].Name, path[3:]
		return r, nil
	}
	return nil, fmt.Errorf("the reference %q begins with none of input, inputs, signal and steps", clip.Text(strings.TrimSpace(text)))
}

// String returns the reference without its braces.
func (r *Ref) String() string {
	path := Path{{Name: string(r.Root)}}
	if r.Root == rootSteps {
		path = append(path, Segment{Name: r.Step}, Segment{Name: "outputs"})
	}
	return append(path, r.Path...).String()
}

// parsePath parses a path: names separated by dots, positions in brackets, and names in brackets
// and quotes. The empty path denotes the whole value.
func parsePath(text string) (Path, error) {
	var path Path
	for rest := text; rest != ""; {
		var s Segment
		var err error
		if rest[0] == '[' {
			s, rest, err = cutBracket(rest)
		} else {
			if len(path) > 0 {
				if rest[0] != '.' {
					return nil, fmt.Errorf("a dot is required before %q", clip.Text(rest))
				}
				rest = rest[1:]
			}
			s.Name, rest = cutName(rest)
			if s.Name == "" {
				err = errors.New("a name is empty, or must be quoted: [\"a name\"]")
			}
		}
		if err != nil {
			return nil, err
		}
		path = append(path, s)
	}
	return path, nil
}

// cutName cuts a name off the beginning of a text.
func cutName(text string) (name, rest string) {
	for i, r := range text {
		if !isNameRune(r) {
			return text[:i], text[i:]
		}
	}
	return text, ""
}

func isNameRune(r rune) bool {
	return r == '_' || r == '-' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// cutBracket cuts [position] or ["name"] off the beginning of a text.
func cutBracket(text string) (s Segment, rest string, err error) {
	if strings.HasPrefix(text, `["`) {
		quoted, err := strconv.QuotedPrefix(text[1:])
		if err != nil {
			return s, "", fmt.Errorf("%q has no closing quote", clip.Text(text))
		}
		s.Name, err = strconv.Unquote(quoted)
		rest = text[1+len(quoted):]
		if err != nil || !strings.HasPrefix(rest, "]") || !utf8.ValidString(s.Name) {
			return s, "", fmt.Errorf("%q has no closing bracket", clip.Text(text))
		}
		return s, rest[1:], nil
	}
	inner, rest, ok := strings.Cut(text[1:], "]")
	if !ok {
		return s, "", fmt.Errorf("%q has no closing bracket", clip.Text(text))
	}
	s.Index, err = strconv.Atoi(inner)
	s.IsIndex = true
	if err != nil || s.Index < 0 || inner != strconv.Itoa(s.Index) {
		return s, "", fmt.Errorf("%q is not a position in a list", clip.Text(inner))
	}
	return s, rest, nil
}

// String returns a text that parses as the path.
func (p Path) String() string {
	var out strings.Builder
	for i, s := range p {
		switch {
		case s.IsIndex:
			fmt.Fprintf(&out, "[%d]", s.Index)
		case s.Name == "" || strings.ContainsFunc(s.Name, func(r rune) bool { return !isNameRune(r) }):
			out.WriteString("[" + strings.ReplaceAll(strconv.Quote(s.Name), "}", `\x7d`) + "]")
		default:
			if i > 0 {
				out.WriteByte('.')
			}
			out.WriteString(s.Name)
		}
	}
	return out.String()
}
