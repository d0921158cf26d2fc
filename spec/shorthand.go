package spec

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/schema"
)

// CheckShorthand reports a setting's JSON Schema that names fields where keywords belong, as in
// {text: string}. Such a schema is valid but does not constrain the fields. Validity is checked
// where the schema is compiled.
func CheckShorthand(path string, raw json.RawMessage) diag.List {
	short, ok := schema.FindShorthand(raw)
	if !ok {
		return nil
	}
	at := path
	for _, segment := range short.Path {
		at = diag.Key(at, segment)
	}
	wrong := diag.New(diag.InvalidSchema, at, "%q is not a JSON Schema keyword, so it has no effect here", short.Path[len(short.Path)-1])
	if strings.HasPrefix(short.Remedy, "{") {
		short.Remedy = cmp.Or(short.Of, path) + ": " + short.Remedy
	}
	return diag.List{wrong.WithHint("write %s", short.Remedy).AtKey()}
}
