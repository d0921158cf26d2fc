package mcp

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// urlPlace is the position of a variable in a URL.
type urlPlace int

const (
	inBeginning urlPlace = iota
	inHost
	inPath
	inQuery
)

// nextPlace returns the position in a URL after the given beginning.
func nextPlace(begun string) urlPlace {
	_, rest, hasScheme := strings.Cut(begun, "://")
	switch {
	case !hasScheme:
		return inBeginning
	case strings.Contains(rest, "?"):
		return inQuery
	case strings.Contains(rest, "/"):
		return inPath
	default:
		return inHost
	}
}

// refersToTenant reports whether the url or the headers use variables of tenants.
func (c *config) refersToTenant() bool {
	refers := func(text string) bool { return len(spec.Template(text).References(spec.TenantScope)) > 0 }
	return refers(c.URL) || slices.ContainsFunc(slices.Collect(maps.Values(c.Headers)), refers)
}

var errTurnVariable = errors.New("a variable of a turn can stand in prompts only: no caller chooses where a request goes")

// fillURL returns the url with each variable replaced by the result of fill.
func (c *config) fillURL(fill func(name string, at urlPlace) (string, error)) (string, error) {
	var out strings.Builder
	for i, part := range spec.Template(c.URL).Parts() {
		switch at := nextPlace(out.String()); {
		case part.Name == "":
			if i == 1 && part.Text[0] != '/' && part.Text[0] != '?' && strings.HasPrefix(c.URL, "${") {
				return "", errors.New("after the variable that has the beginning of the url, a path must follow")
			}
			out.WriteString(part.Text)
		case part.Scope != spec.TenantScope:
			return "", errTurnVariable
		case at == inBeginning && i > 0 || i == 1 && strings.HasPrefix(c.URL, "${"):
			return "", errors.New("a variable may replace the start of the url, its host, its path or its query")
		default:
			value, err := fill(part.Name, at)
			if err != nil {
				return "", err
			}
			out.WriteString(value)
		}
	}
	return out.String(), nil
}

// sampleURL returns the url with a sample value for each variable, to be checked.
func (c *config) sampleURL() (string, error) {
	return c.fillURL(func(_ string, at urlPlace) (string, error) {
		if at == inBeginning {
			return "https://host.example", nil
		}
		return "1", nil
	})
}

func (c *config) tenantReferences() []tools.TenantReference {
	var list []tools.TenantReference
	_, err := c.fillURL(func(name string, at urlPlace) (string, error) {
		list = append(list, tools.TenantReference{Path: "url", Name: name, Plain: at == inBeginning || at == inHost})
		return map[urlPlace]string{inBeginning: "https://host.example"}[at], nil
	})
	if err != nil {
		return nil // Validate has reported it
	}
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		for _, variable := range spec.Template(c.Headers[name]).References(spec.TenantScope) {
			list = append(list, tools.TenantReference{Path: diag.Key("headers", name), Name: variable})
		}
	}
	return list
}

// hasForeignHost reports whether a tenant decides the host.
func (c *config) hasForeignHost() bool {
	return slices.ContainsFunc(c.tenantReferences(), func(r tools.TenantReference) bool { return r.Plain })
}

// plainText returns a text without references as it is sent.
func plainText(text string) string {
	var out strings.Builder
	for _, part := range spec.Template(text).Parts() {
		if out.WriteString(part.Text); part.Name != "" {
			out.WriteString(part.String())
		}
	}
	return out.String()
}

func isControl(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }
