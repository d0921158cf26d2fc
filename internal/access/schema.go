package access

import (
	"encoding/json"
	"reflect"
	"slices"
)

// isNarrowerSchema reports whether a JSON Schema is known to accept nothing that an earlier one
// rejects. It returns false if the schemas cannot be compared.
func isNarrowerSchema(after, before json.RawMessage) bool {
	var is, was any
	if json.Unmarshal(before, &was) != nil || json.Unmarshal(after, &is) != nil {
		return false
	}
	return isNarrower(is, was)
}

// keywordRank is how a keyword of a schema can be made stricter.
type keywordRank uint8

const (
	exact      keywordRank = iota // not at all
	annotation                    // it restricts nothing
	addable                       // by adding it
	lower                         // by adding it, or a smaller number
	higher                        // by adding it, or a greater number
	superset                      // by adding it, or elements
	subset                        // by adding it, or removing elements
	nested                        // by adding it, or making its schema stricter
	members                       // by adding members, or making their schemas stricter
)

var keywords = map[string]keywordRank{
	"title": annotation, "description": annotation, "default": annotation, "examples": annotation, "$comment": annotation,
	"const": addable, "pattern": addable, "format": addable, "uniqueItems": addable, "multipleOf": addable, "allOf": addable, "not": addable,
	"maximum": lower, "exclusiveMaximum": lower, "maxLength": lower, "maxItems": lower, "maxProperties": lower,
	"minimum": higher, "exclusiveMinimum": higher, "minLength": higher, "minItems": higher, "minProperties": higher,
	"required": superset, "enum": subset, "type": subset,
	"items": nested, "additionalProperties": nested, "properties": members,
}

// isNarrower compares two schemas keyword by keyword.
func isNarrower(after, before any) bool {
	is, isObject := after.(map[string]any)
	was, wasObject := before.(map[string]any)
	if !isObject || !wasObject {
		return reflect.DeepEqual(after, before) || before == true || after == false
	}
	for key, value := range was {
		if keywords[key] == annotation {
			continue
		}
		if now, ok := is[key]; !ok || !reflect.DeepEqual(now, value) && !isStricter(key, now, value, isOpen(was)) {
			return false
		}
	}
	for key := range is {
		if _, ok := was[key]; !ok && (keywords[key] == exact || key == "properties" && !isOpen(was)) {
			return false
		}
	}
	return true
}

// isOpen reports whether a schema does not restrict properties that it does not name: naming one
// then restricts it.
func isOpen(schema map[string]any) bool {
	_, unevaluated := schema["unevaluatedProperties"]
	additional, ok := schema["additionalProperties"]
	return !unevaluated && (!ok || additional == true)
}

// isStricter compares two values of one keyword.
func isStricter(key string, is, was any, open bool) bool {
	switch keywords[key] {
	case lower, higher:
		a, isNumber := is.(float64)
		b, wasNumber := was.(float64)
		return isNumber && wasNumber && (a < b) == (keywords[key] == lower)
	case superset:
		return containsAll(is, was)
	case subset:
		return containsAll(was, is)
	case nested:
		return isNarrower(is, was)
	case members:
		now, isObject := is.(map[string]any)
		before, wasObject := was.(map[string]any)
		if !isObject || !wasObject || !open && len(now) > len(before) {
			return false
		}
		for name, schema := range before {
			if fresh, ok := now[name]; !ok || !isNarrower(fresh, schema) {
				return false
			}
		}
		return true
	default:
		return false
	}
}

// containsAll reports whether a list has all elements of another one. A single value
// counts as a list.
func containsAll(list, elements any) bool {
	have, want := listOf(list), listOf(elements)
	return !slices.ContainsFunc(want, func(e any) bool {
		return !slices.ContainsFunc(have, func(h any) bool { return reflect.DeepEqual(h, e) })
	})
}

func listOf(v any) []any {
	if list, ok := v.([]any); ok {
		return list
	}
	return []any{v}
}
