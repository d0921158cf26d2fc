package describe

import (
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/record"
)

// Starter returns a small configuration for the first provider kind.
func Starter(components *Components) []byte {
	if len(components.Kinds["providers"]) == 0 {
		return nil
	}
	provider := components.Kinds["providers"][0]
	var b strings.Builder
	fmt.Fprintf(&b, "version: %d\n\nproviders:\n  main:\n    type: %s\n", keys.Version, provider.Type)
	if r := provider.Record(); r != nil {
		for _, f := range r.Fields {
			if f.Required || f.Secret && record.ShapeOf(f.Type) == record.TextShape {
				fmt.Fprintf(&b, "    %s: %s\n", f.Name, starterValue(f, provider.Type))
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
func starterValue(f *record.Field, kind string) string {
	t := f.Type
	if record.ShapeOf(t) == record.PointerShape {
		t = t.Elem()
	}
	switch record.ShapeOf(t) {
	case record.TextShape:
		if len(f.Enum) > 0 {
			return f.Enum[0]
		}
		return "${" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(kind+"_"+f.Name)) + "}"
	case record.BoolShape:
		return "false"
	case record.IntShape, record.UintShape, record.FloatShape:
		if f.Min != nil {
			return record.FormatNumber(*f.Min)
		}
		return "0"
	case record.DurationShape:
		return "1s"
	case record.ListShape, record.NamesShape:
		return "[]"
	default:
		return "{}"
	}
}
