package decode

import (
	_ "embed"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/internal/nearest"
)

// A foreignName is another system's name for a field.
type foreignName struct {
	// Names are the other names, in snake case.
	Names []string `json:"names"`
	// Field is the record's name for it; empty if it has no such field.
	Field string `json:"field"`
	// Hint is the text to show; if empty, it is "did you mean" with the field.
	Hint string `json:"hint"`
}

// foreignNames are names that people know from other systems: agent SDKs and frameworks, editors'
// lists of MCP servers, agent cards, and cluster manifests.
type foreignNames struct {
	// Fields are the names of fields, by the record in which people write them.
	Fields map[string][]foreignName `json:"fields"`
	// Top are top-level keys.
	Top []foreignName `json:"top"`
	// Types are the types of components, by registry.
	Types map[string][]foreignName `json:"types"`
}

//go:embed foreign_names.json
var foreignText []byte

// readForeignNames returns the embedded names, decoded once.
var readForeignNames = sync.OnceValue(func() *foreignNames {
	names := new(foreignNames)
	if err := json.Unmarshal(foreignText, names); err != nil {
		panic("config: foreign_names.json: " + err.Error()) // not reached: the file is part of the program
	}
	return names
})

// recordKind returns the key of foreignNames.Fields for a record.
func recordKind(p *tree.Place, t reflect.Type) string {
	switch t {
	case keys.AgentType, keys.DefaultsType:
		return "agent"
	}
	if p != nil && p.Parent != nil && p.Parent.Parent == nil {
		if r := keys.RegistryNamed(p.Parent.Key); r != nil && r.Type == nil {
			return r.EntryName()
		}
	}
	return record.NameOf(t)
}

// findForeign finds a name of another system. It ignores case and tolerates small misspellings.
func findForeign(table []foreignName, name string) (foreignName, bool) {
	if len(name) > maxForeign {
		return foreignName{}, false
	}
	name = snakeCase(name)
	for _, f := range table {
		if slices.Contains(f.Names, name) {
			return f, true
		}
	}
	if near := nearestForeign(table, name, nil); near != "" && len(name) > 4 {
		return findForeign(table, near)
	}
	return foreignName{}, false
}

// nearestForeign returns the table's name nearest to name, or one of own that is at least as near;
// empty if none is near.
func nearestForeign(table []foreignName, name string, own []string) string {
	all := slices.Clone(own)
	for _, f := range table {
		all = append(all, f.Names...)
	}
	near, _ := nearest.Of(name, all)
	return near
}

// maxForeign limits the looked-up names, in bytes.
const maxForeign = 64

// snakeCase converts a name to lower case with underscores between words.
func snakeCase(name string) string {
	var b strings.Builder
	for i, c := range name {
		switch {
		case 'A' <= c && c <= 'Z':
			if i > 0 && (name[i-1] >= 'a' && name[i-1] <= 'z') {
				b.WriteByte('_')
			}
			b.WriteRune(c - 'A' + 'a')
		case c == '-' || c == ' ':
			b.WriteByte('_')
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// hintText returns the hint.
func (f foreignName) hintText() string {
	if f.Hint == "" {
		return didYouMean(f.Field)
	}
	return f.Hint
}
