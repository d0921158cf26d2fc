package toolschema

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/model"
)

// Map returns a schema of type object that the vendor accepts for a tool's arguments. The result is
// shared; callers must not modify it.
func (d *Dialect) Map(schema json.RawMessage) (Mapped, error) {
	if len(schema) > longestRemembered {
		return d.mapSchema(schema)
	}
	key := memoKey{d, sha256.Sum256(schema)}
	if known, ok := remembered.get(key); ok {
		return known, nil
	}
	mapped, err := d.mapSchema(schema)
	if err == nil {
		remembered.add(key, mapped)
	}
	return mapped, err
}

// mapSchema is Map without the cache.
func (d *Dialect) mapSchema(schema json.RawMessage) (Mapped, error) {
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object"}`)
	}
	m, w, err := d.rewrite(schema, false, true)
	if err == nil && len(m.Dropped) > 0 && w.refs.kept {
		// The target of a kept reference may accept more than before, which is not allowed in a
		// negation.
		m, _, err = d.rewrite(schema, true, true)
	}
	return m, err
}

// MapValue returns a schema, accepted by the vendor, of any value.
func (d *Dialect) MapValue(schema json.RawMessage) (Mapped, error) {
	m, _, err := d.rewrite(schema, true, false)
	return m, err
}

func (d *Dialect) rewrite(schema json.RawMessage, wideRefs, ofObject bool) (Mapped, *rewriter, error) {
	var root fields
	if err := json.Unmarshal(schema, &root); err != nil {
		return Mapped{}, nil, fmt.Errorf("the schema is not an object: %w", err)
	}
	m := Mapped{}
	w := &rewriter{
		dialect: d, document: schema, draft: draftOf(root), atRoot: ofObject, mapped: &m, following: []string{"#"},
	}
	ids := bytes.Count(schema, []byte(`"$id":`))
	w.refs = references{elsewhere: ids > 1 || ids == 1 && root["$id"] == nil, wide: wideRefs}
	if ofObject {
		if w.ignoresSiblings() && root["$ref"] != nil {
			maps.DeleteFunc(root, func(name string, _ json.RawMessage) bool { return name != "$ref" && slices.Contains(constraints, name) })
		}
		if root == nil {
			schema = json.RawMessage(`{}`)
		} else if w.flattenRoot(root) {
			schema = encode(root)
		}
	}
	m.Schema, _ = w.rewrite(schema)
	slices.Sort(m.Dropped)
	return m, w, nil
}

// Adapt returns the changes made to a tool.
func (d *Dialect) Adapt(t *model.Tool) model.ToolChange {
	var c model.ToolChange
	if !d.Names.Allows(t.Name) {
		c.Name = d.Names.Fit(t.Name)
	}
	mapped, err := d.Map(t.Parameters)
	if err == nil {
		c.Dropped = mapped.Dropped
	}
	return c
}
