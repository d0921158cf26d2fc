package spec

import (
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
)

// orDefault returns the value of an optional field.
func orDefault[T any](v *T, byDefault T) T {
	if v == nil {
		return byDefault
	}
	return *v
}

// checkPart checks a part of a record at a path, unless it is absent.
func checkPart[P interface {
	comparable
	Validate() diag.List
}](path string, part P) diag.List {
	var none P
	if part == none {
		return nil
	}
	return check.Within(path, part.Validate())
}

// checkChoice checks a text that must be empty or one of several allowed ones.
func checkChoice[T ~string](path string, value T, allowed ...T) diag.List {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	names, last := "", len(allowed)-1
	for i, name := range allowed[:last] {
		if i > 0 {
			names += ", "
		}
		names += string(name)
	}
	return diag.List{diag.New(diag.InvalidValue, path, "%s is %q; allowed are %s and %s", path, value, names, allowed[last])}
}

func checkRange(path string, v *int, least, most int) diag.List {
	if v == nil || *v >= least && *v <= most {
		return nil
	}
	return diag.List{diag.New(diag.InvalidValue, path, "%s is %d; it must lie between %d and %d", path, *v, least, most)}
}

func atMost(path string, v *int, most int) diag.List {
	if v == nil || *v <= most {
		return nil
	}
	return diag.List{diag.New(diag.InvalidValue, path, "%s is %d; it must be at most %d", path, *v, most)}
}
