// Package fieldtest provides tables of how servers treat each field of their requests.
package fieldtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// Operation is the part of a table about one type of request.
type Operation struct {
	// Path is the path of the requests; empty for the operation's path.
	Path string `yaml:"path"`
	// Base is the request body to which the fields are added, and Query the request's query.
	Base  any    `yaml:"base"`
	Query string `yaml:"query"`
	// Fails is set if Base fails.
	Fails bool `yaml:"fails"`
	// Then lists further requests whose answers show the effect of the first. {id} is the ID in its
	// answer.
	Then []string `yaml:"then"`
	// As is another operation with the same fields. Without a Base, the same code answers both.
	As string `yaml:"as"`
	// Fields is the rule of each field by its path, as ParseRule reads it.
	Fields map[string]string `yaml:"fields"`
}

// Table has the rules of all requests by operation.
type Table map[string]*Operation

// Read reads a table.
func Read(t *testing.T, file string) Table {
	t.Helper()
	data, err := os.ReadFile(file)
	table := Table{}
	if err == nil {
		err = yaml.Unmarshal(data, &table)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return table
}

// Class is the server's treatment of a field.
type Class string

// The classes of fields.
const (
	// Honored fields change the answer, or are checked.
	Honored Class = "honored"
	// Rejected fields are errors that name the field.
	Rejected Class = "rejected"
	// Ignored fields change nothing, as the protocol allows.
	Ignored Class = "ignored"
)

// Rule is the server's treatment of a field, and a request that proves it.
type Rule struct {
	Class Class
	// At is the path at which Value is set; empty means the path of the field.
	At string
	// Whole is set if the value is the whole body: its path is @ alone.
	Whole bool
	// Value is set in the request; nil removes the field.
	Value any
	// Expect is a text in the answer that the answer to Base lacks; for an ignored field it is the
	// reason.
	Expect string
}

// ParseRule reads a rule: CLASS [@PATH] VALUE => TEXT. VALUE is JSON, or - to remove the
// field.
func ParseRule(text string) (*Rule, error) {
	head, expect, ok := strings.Cut(text, " => ")
	class, value, _ := strings.Cut(head, " ")
	r := &Rule{Class: Class(class), Expect: strings.TrimSpace(expect)}
	if !ok || r.Expect == "" || r.Class != Honored && r.Class != Rejected && r.Class != Ignored {
		return nil, fmt.Errorf("%q is not CLASS [@PATH] VALUE => TEXT", text)
	}
	if strings.HasPrefix(value, "@") {
		r.At, value, _ = strings.Cut(value[1:], " ")
		r.Whole = r.At == ""
	}
	if value == "-" {
		return r, nil
	}
	if err := json.Unmarshal([]byte(value), &r.Value); err != nil {
		return nil, fmt.Errorf("%q: the value is not JSON: %w", text, err)
	}
	return r, nil
}

// Rule returns the rule of an operation's field, which may be inherited from another operation.
func (t Table) Rule(operation, field string) (string, bool) {
	for range len(t) {
		op := t[operation]
		if op == nil {
			return "", false
		}
		if rule, ok := op.Fields[field]; ok {
			return rule, true
		}
		operation = op.As
	}
	return "", false
}

// CheckComplete fails for fields without a rule, and rules without a field. A field whose
// own fields are listed needs no rule.
func (t Table) CheckComplete(tb testing.TB, fields map[string][]string) {
	tb.Helper()
	used := map[string]bool{}
	for _, operation := range slices.Sorted(maps.Keys(fields)) {
		list := fields[operation]
		for _, field := range list {
			if _, ok := t.Rule(operation, field); ok {
				used[t.owner(operation, field)+" "+field] = true
			} else if !hasInner(list, field) {
				tb.Errorf("%s: the field %s has no rule: say whether it is honored, rejected or ignored", operation, field)
			}
		}
	}
	for operation, op := range t {
		for field := range op.Fields {
			if !used[operation+" "+field] {
				tb.Errorf("%s: no request has the field %s", operation, field)
			}
		}
	}
}

// owner returns the operation whose table has the rule of a field.
func (t Table) owner(operation, field string) string {
	for t[operation].Fields[field] == "" {
		operation = t[operation].As
	}
	return operation
}

func hasInner(list []string, field string) bool {
	return slices.ContainsFunc(list, func(other string) bool {
		return strings.HasPrefix(other, field+".") || strings.HasPrefix(other, field+"[]")
	})
}

// Set returns body with the value at a path such as a[].b; it changes the first element of a list,
// and * is the key x. A nil value removes the field.
func Set(body any, path string, value any) any {
	name, rest, nested := strings.Cut(path, ".")
	name, list := strings.CutSuffix(name, "[]")
	if name == "*" {
		name = "x"
	}
	object, _ := body.(map[string]any)
	object = maps.Clone(object)
	if object == nil {
		object = map[string]any{}
	}
	switch {
	case !nested && !list && value == nil:
		delete(object, name)
	case !nested && !list:
		object[name] = value
	case list:
		elements, _ := object[name].([]any)
		elements = slices.Clone(elements)
		if len(elements) == 0 {
			elements = []any{nil}
		}
		elements[0] = Set(elements[0], rest, value)
		object[name] = elements
	default:
		object[name] = Set(object[name], rest, value)
	}
	return object
}

// Markdown returns a table of the fields that are not honored.
func (t Table) Markdown(operations []string) string {
	var out strings.Builder
	out.WriteString("\n| Request | Field | |\n|---|---|---|\n")
	for _, name := range operations {
		for _, field := range slices.Sorted(maps.Keys(t[name].Fields)) {
			rule, err := ParseRule(t[name].Fields[field])
			if err != nil || rule.Class == Honored {
				continue
			}
			shown := strings.TrimPrefix(strings.TrimPrefix(field, "query:"), "header:")
			text := string(rule.Class)
			if rule.Class == Ignored {
				text += ": " + rule.Expect
			}
			fmt.Fprintf(&out, "| `%s` | `%s` | %s |\n", name, shown, text)
		}
	}
	return out.String()
}
