package vendorhttp

import (
	"cmp"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/spec"
)

// Check checks the settings base_url, api_key and headers.
func (a *Access) Check() diag.List {
	list := append(CheckBaseURL(a.BaseURL), CheckSecret("api_key", "api_key", a.APIKey)...)
	key := reservedHeader{}
	if a.APIKey != "" || a.KeySetting != "" {
		key = reservedHeader{name: a.KeyHeader, setting: cmp.Or(a.KeySetting, "api_key")}
	}
	if a.HostConnection != "" && a.APIKey != "" {
		list = append(list, diag.New(diag.InvalidValue, "host_connection", "host_connection contradicts api_key").WithHint("give one of the two"))
	}
	if a.Request != nil {
		list = append(list, check.Within("request", a.Request.Validate())...)
		list = append(list, check.Within("request", a.checkEdits(a.Request))...)
	}
	return append(list, checkHeaders(a.Headers, key)...)
}

// CheckCredential warns about a provider whose requests carry no credential. ways names the
// settings that give one. Further headers may carry a gateway's.
func (a *Access) CheckCredential(given bool, ways string) diag.List {
	if given || a.APIKey != "" || len(a.Headers) > 0 {
		return nil
	}
	return diag.List{diag.New(diag.MissingField, "", "the provider has no credential").
		WithSeverity(diag.Warning).WithHint("set %s", ways)}
}

// outputLimits are the names of an output limit. A request has at most one of them.
var outputLimits = []string{"max_tokens", "max_completion_tokens", "max_output_tokens"}

// CheckEdits warns about paths that edits omit although requests never contain them, unless an
// earlier edit sets the field.
func (a *API) CheckEdits(edits *spec.RequestEdits, earlier ...*spec.RequestEdits) diag.List {
	return a.access.checkEdits(edits, append(earlier, a.access.Request)...)
}

func (a *Access) checkEdits(edits *spec.RequestEdits, earlier ...*spec.RequestEdits) (list diag.List) {
	if edits == nil || a.Body == nil {
		return nil
	}
	for i, path := range edits.Omit {
		root, _, _ := strings.Cut(path, ".")
		isSet := func(e *spec.RequestEdits) bool { return e != nil && e.Set[root] != nil }
		if path == "" || a.mayHave(path) || slices.ContainsFunc(earlier, isSet) {
			continue
		}
		fault := diag.New(diag.NoEffect, diag.Index("omit", i), "requests to the provider never have the field %s", path).WithSeverity(diag.Warning)
		if last := path[strings.LastIndexByte(path, '.')+1:]; last != path && findOptional(last) != nil {
			list = append(list, fault.WithHint("omit: [%s] leaves it out everywhere", last))
		} else {
			list = append(list, fault.WithHint("check its name; a dot leads into an object or the objects of a list, such as tools.function.strict"))
		}
	}
	return list
}

// mayHave reports whether requests may have a field.
func (a *Access) mayHave(path string) bool {
	t := reflect.TypeOf(a.Body)
	if hasField(t, strings.Split(path, ".")) {
		return true
	}
	if slices.Contains(outputLimits, path) {
		return slices.ContainsFunc(outputLimits, func(name string) bool { return hasField(t, []string{name}) })
	}
	if a.Dialect != nil && slices.Contains(slices.Collect(maps.Values(a.Dialect.Names)), path) {
		return true
	}
	f := findOptional(path)
	return f != nil && slices.ContainsFunc(slices.Concat(f.paths, f.further), func(p string) bool { return hasField(t, strings.Split(p, ".")) })
}

// hasField reports whether a value of a type may have a field in its JSON.
func hasField(t reflect.Type, names []string) bool {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice && t.Elem().Kind() != reflect.Uint8 {
		t = t.Elem()
	}
	switch {
	case len(names) == 0:
		return true
	case t.Kind() != reflect.Struct:
		return t.Kind() == reflect.Interface || t.Kind() == reflect.Map || t.Kind() == reflect.Slice
	}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == names[0] {
			return hasField(f.Type, names[1:])
		}
	}
	return false
}
