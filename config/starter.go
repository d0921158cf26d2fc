package config

import (
	"fmt"
	"strings"
)

// Starter returns a small configuration with one agent on a model of the first provider kind,
// including its key and required fields. Unknown values are variables, such as ${OPENAI_API_KEY}.
// It returns nothing if there are no provider kinds.
func Starter(kinds Kinds) []byte {
	if len(kinds.Providers) == 0 {
		return nil
	}
	provider := kindsOf(kinds.Providers)[0]
	var b strings.Builder
	fmt.Fprintf(&b, "version: %d\n\nproviders:\n  main:\n    type: %s\n", Version, provider.typ)
	if r := kindRecord(provider); r != nil {
		for _, f := range r.fields {
			if f.required || f.secret && shapeOf(f.typ) == textShape {
				fmt.Fprintf(&b, "    %s: %s\n", f.name, starterValue(f, provider.typ))
			}
		}
	}
	b.WriteString(`
models:
  default:
    provider_id: main
    upstream_model: ${MODEL}

agents:
  assistant:
    description: Answers questions.
    model_id: default
    system_prompt: You are helpful and brief.
`)
	return []byte(b.String())
}

// starterValue returns a starting value for the field in the settings of a kind.
func starterValue(f *field, kind string) string {
	t := f.typ
	if shapeOf(t) == pointerShape {
		t = t.Elem()
	}
	switch shapeOf(t) {
	case textShape:
		if len(f.enum) > 0 {
			return f.enum[0]
		}
		return "${" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(kind+"_"+f.name)) + "}"
	case boolShape:
		return "false"
	case intShape, uintShape, floatShape:
		if f.min != nil {
			return formatNumber(*f.min)
		}
		return "0"
	case durationShape:
		return "1s"
	case listShape, namesShape:
		return "[]"
	default:
		return "{}"
	}
}
