package spec

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/schema"
)

// CheckSchema reports likely mistakes in the JSON Schema of a setting: fields where keywords
// belong, as in {text: string}, and required properties that are not described. Whether the
// schema is valid is checked where it is compiled.
func CheckSchema(path string, raw json.RawMessage) diag.List {
	short, ok := schema.FindShorthand(raw)
	if !ok {
		return checkRequired(path, raw)
	}
	wrong := diag.New(diag.InvalidSchema, joinKeys(path, short.Path), "%q is not a JSON Schema keyword, so it has no effect here", short.Path[len(short.Path)-1])
	if strings.HasPrefix(short.Remedy, "{") {
		short.Remedy = cmp.Or(short.Of, path) + ": " + short.Remedy
	}
	return diag.List{wrong.WithHint("write %s", short.Remedy).AtKey()}
}

func checkRequired(path string, raw json.RawMessage) (list diag.List) {
	for _, one := range schema.FindUndeclared(raw) {
		last := len(one.Path) - 1
		at := joinKeys(path, one.Path[:last]) + "[" + one.Path[last] + "]"
		list = append(list, diag.New(diag.UndeclaredProperty, at, "%q is required, but properties does not have it", clip.Text(one.Name)).
			WithHint("describe it in properties").WithNearest(one.Name, one.Declared))
	}
	return list
}

// joinKeys returns the path of a value below path.
func joinKeys(path string, keys []string) string {
	for _, key := range keys {
		path = diag.Key(path, key)
	}
	return path
}
