package spec

import (
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
)

// CheckDefaults reports secrets with defaults, since everyone who reads the configuration can see
// them. It is safe for nil.
func (t *Tenants) CheckDefaults() diag.List {
	if t == nil {
		return nil
	}
	var list diag.List
	for _, name := range slices.Sorted(maps.Keys(t.Variables)) {
		if v := t.Variables[name]; v.Secret && v.Default != nil {
			list = append(list, diag.New(diag.InvalidValue, diag.Join(diag.Key("tenants.variables", name), "default"), "a secret cannot have a default").
				WithHint("each tenant sets its own: runtime tenants variables set TENANT %s", clip.Text(name)))
		}
	}
	return list
}

// CheckSecret checks a tenant variable that is used where a secret is required. It is safe for
// nil.
func (t *Tenants) CheckSecret(path, name string) diag.List {
	list := t.CheckReference(path, name, true)
	if len(list) == 0 && !t.Variables[name].Secret {
		list = append(list, diag.New(diag.InvalidValue, path, "the variable %s is not a secret, which is required here", clip.Text(name)).
			WithHint("declare it as one: tenants: {variables: {%s: {secret: true}}}", clip.Text(name)))
	}
	return list
}

// CheckReference checks a reference to a tenant variable at a path. secrets allows secret
// variables. It is safe for nil.
func (t *Tenants) CheckReference(path, name string, secrets bool) diag.List {
	var declared map[string]TenantVariable
	if t != nil {
		declared = t.Variables
	}
	v, ok := declared[name]
	switch {
	case !ok:
		d := diag.New(diag.UndeclaredVariable, path, "tenants.variables does not declare the variable %s", clip.Text(name))
		if near, isNear := nearest.Of(name, slices.Sorted(maps.Keys(declared))); isNear {
			return diag.List{d.WithHint("did you mean %q?", near)}
		}
		return diag.List{d.WithHint("declare it: tenants: {variables: {%s: {description: …}}}", clip.Text(name))}
	case v.Secret && !secrets:
		return diag.List{diag.New(diag.InvalidValue, path, "the variable %s is a secret, which cannot be used here", clip.Text(name)).
			WithHint("secrets can stand in the headers, the query and the path of the url of an http or mcp tool, and in secrets of webhooks")}
	}
	return nil
}
