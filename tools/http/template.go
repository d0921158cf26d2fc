package http

import (
	"errors"
	"strings"

	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// template is a text with placeholders for arguments and for variables of the tenant.
type template []part

// part is a literal, or a placeholder for an argument if name is set, or for a tenant variable if
// tenant is set.
type part struct{ literal, name, tenant string }

// Braces that form no placeholder are rejected, not sent as they are: most likely they are a
// misspelled one. The error does not quote the text, which may be a secret.
var errPlaceholder = errors.New("a placeholder is {{name}} with a name of letters, digits, '_', '-' and '.'")

var errTurnVariable = errors.New("a variable of a turn can stand in prompts only: no caller chooses where a request goes")

// parseTemplate splits a text at its placeholders.
func parseTemplate(text string) (template, error) {
	var t template
	for {
		literal, rest, found := strings.Cut(text, "{{")
		if literal != "" {
			t = append(t, part{literal: literal})
		}
		if !found {
			return t, nil
		}
		inside, after, closed := strings.Cut(rest, "}}")
		name := strings.Trim(inside, " ")
		if !closed || !tools.IsPlaceholderName(name) {
			return nil, errPlaceholder
		}
		t = append(t, part{name: name})
		text = after
	}
}

// onlyName returns the name of the only argument in t; "" if t contains anything else.
func (t template) onlyName() string {
	if len(t) != 1 {
		return ""
	}
	return t[0].name
}

// isLiteral reports whether t is known without a call.
func (t template) isLiteral() bool {
	for i := range t {
		if t[i].name != "" || t[i].tenant != "" {
			return false
		}
	}
	return true
}

// addNames adds the names of the arguments in t to a set.
func (t template) addNames(set map[string]bool) {
	for i := range t {
		if t[i].name != "" {
			set[t[i].name] = true
		}
	}
}

// escaper appends the value of an argument in the form required by its place.
type escaper func(dst []byte, name, value string) ([]byte, error)

// appendTo appends the text with the arguments filled in. Literals are appended as they are.
func (t template) appendTo(dst []byte, args tools.Arguments, escape escaper) ([]byte, error) {
	for i := range t {
		if t[i].name == "" {
			dst = append(dst, t[i].literal...)
			continue
		}
		value, err := args.Text(t[i].name)
		if err != nil {
			return nil, err
		}
		if dst, err = escape(dst, t[i].name, value); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

// parseReferring splits a text at its placeholders and its references to variables of tenants.
func parseReferring(text string) (template, error) {
	var t template
	for _, p := range spec.Template(text).Parts() {
		switch {
		case p.Name == "":
			parts, err := parseTemplate(p.Text)
			if err != nil {
				return nil, err
			}
			t = append(t, parts...)
		case p.Scope != spec.TenantScope:
			return nil, errTurnVariable
		default:
			t = append(t, part{tenant: p.Name})
		}
	}
	return t, nil
}

func (t template) joinLiterals() string {
	var b strings.Builder
	for i := range t {
		b.WriteString(t[i].literal)
	}
	return b.String()
}

// firstTenant returns the first variable of the tenant in t; "" if none.
func (t template) firstTenant() string {
	for i := range t {
		if t[i].tenant != "" {
			return t[i].tenant
		}
	}
	return ""
}
