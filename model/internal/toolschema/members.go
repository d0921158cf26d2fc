package toolschema

import (
	"encoding/json"
	"slices"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// rewriteMember rewrites the schemas within a keyword. If a schema that accepts more would make the
// whole accept less, the keyword is dropped.
func (w *rewriter) rewriteMember(n *schemaNode, m *rawjson.Member) {
	switch {
	case m.Name == "properties":
		w.rewriteProperties(n, m)
	case slices.Contains(mapKeywords, m.Name):
		value, wide := w.rewriteMap(m.Value)
		m.Value = value
		n.wide = n.wide || wide && m.Name != "$defs" && m.Name != "definitions"
	case slices.Contains(listKeywords, m.Name):
		value, wide := w.rewriteList(m.Value)
		if wide && m.Name == "oneOf" {
			n.loose = true
		}
		m.Value, n.wide = value, n.wide || wide
	case m.Name == "additionalProperties" && m.Value[0] != '{':
	case slices.Contains(schemaKeywords, m.Name):
		value, wide := w.rewrite(m.Value)
		if wide && (m.Name == "not" || m.Name == "if" || m.Name == "contains") {
			n.negated = append(n.negated, m.Name)
			return
		}
		m.Value, n.wide = value, n.wide || wide
	}
}

// dropNegated drops content with schemas that accept more than before but must not.
func (w *rewriter) dropNegated(n *schemaNode) {
	for _, name := range n.negated {
		switch name {
		case "if":
			w.drop(n, "if", "then", "else")
		case "contains":
			w.drop(n, "contains", "minContains", "maxContains")
		default:
			w.drop(n, name)
		}
	}
	if value := n.get("oneOf"); n.loose && value != nil {
		if n.get("anyOf") != nil {
			w.drop(n, "oneOf")
		} else {
			w.loosen(n, value)
		}
	}
}

// loosen replaces oneOf with anyOf. With one schema, both mean the same.
func (w *rewriter) loosen(n *schemaNode, value json.RawMessage) {
	n.remove("oneOf")
	n.set("anyOf", value)
	var list []json.RawMessage
	if _ = json.Unmarshal(value, &list); len(list) > 1 {
		n.wide = true
		w.mapped.drop("oneOf")
	}
}

// rewriteProperties rewrites the properties of an object. Properties whose names the vendor rejects
// become part of the description.
func (w *rewriter) rewriteProperties(n *schemaNode, m *rawjson.Member) {
	list, ok := rawjson.Members(m.Value)
	if !ok {
		m.Value = json.RawMessage(`{}`)
		return
	}
	var kept, lost []rawjson.Member
	for _, p := range list {
		if pattern := w.dialect.propertyName; pattern != nil && !pattern.MatchString(p.Name) {
			lost = append(lost, p)
			continue
		}
		value, wide := w.rewrite(p.Value)
		n.wide = n.wide || wide
		kept = append(kept, rawjson.Member{Name: p.Name, Value: value})
	}
	m.Value = rawjson.EncodeMembers(kept)
	n.lost = lost
}

// dropLost drops constraints on unnamed properties.
func (w *rewriter) dropLost(n *schemaNode) {
	if n.lost == nil {
		return
	}
	for _, p := range n.lost {
		w.mapped.drop("property " + p.Name)
	}
	w.drop(n, "additionalProperties") // would reject them
	w.lose(n, "properties", rawjson.EncodeMembers(n.lost))
	w.mapped.Dropped = slices.DeleteFunc(w.mapped.Dropped, func(name string) bool { return name == "properties" })
	var required, rest, gone []string
	_ = json.Unmarshal(n.get("required"), &required) // none if it is not a list
	lost := rawjson.IndexMembers(n.lost)
	for _, name := range required {
		if lost[name] {
			gone = append(gone, name)
		} else {
			rest = append(rest, name)
		}
	}
	if gone == nil {
		return
	}
	n.told["required"] = encode(gone)
	n.remove("required")
	if rest != nil {
		encoded := encode(rest)
		n.set("required", encoded)
	}
}

// rewriteMap rewrites the schemas of an object.
func (w *rewriter) rewriteMap(raw json.RawMessage) (_ json.RawMessage, wide bool) {
	list, ok := rawjson.Members(raw)
	if !ok {
		return json.RawMessage(`{}`), true
	}
	for i := range list {
		value, more := w.rewrite(list[i].Value)
		list[i].Value, wide = value, wide || more
	}
	return rawjson.EncodeMembers(list), wide
}

// rewriteList rewrites the schemas of a list.
func (w *rewriter) rewriteList(raw json.RawMessage) (_ json.RawMessage, wide bool) {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return json.RawMessage(`[{}]`), true
	}
	for i := range list {
		value, more := w.rewrite(list[i])
		list[i], wide = value, wide || more
	}
	encoded := encode(list)
	return encoded, wide
}

// settleValues converts types, constants and enumerations to the dialect's form.
func (w *rewriter) settleValues(n *schemaNode) {
	w.settleConst(n)
	w.settleEnum(n)
	if types := typesOf(n.get("type")); w.dialect.oneType && len(types) > 1 {
		rest := slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "null" })
		switch {
		case len(rest) == 1:
		case n.get("anyOf") != nil:
			w.drop(n, "type")
		default:
			var list []map[string]string
			for _, t := range types {
				list = append(list, map[string]string{"type": t})
			}
			encoded := encode(list)
			n.remove("type")
			n.set("anyOf", encoded)
		}
	}
	var format string
	_ = json.Unmarshal(n.get("format"), &format) // empty if it is not a text
	if w.dialect.formats != nil && format != "" && !slices.Contains(w.dialect.formats, format) {
		w.drop(n, "format")
	}
}

// settleConst converts a constant to an enumeration of one value, for a dialect without constants.
func (w *rewriter) settleConst(n *schemaNode) {
	value := n.get("const")
	if value == nil || w.accepts("const") {
		return
	}
	n.remove("const")
	encoded := encode([]json.RawMessage{value})
	if enum := n.get("enum"); enum != nil {
		w.lose(n, "const", value)
		return
	}
	n.set("enum", encoded)
}

// settleEnum converts an enumeration with values that the dialect does not allow there.
func (w *rewriter) settleEnum(n *schemaNode) {
	raw := n.get("enum")
	if raw == nil || !w.dialect.oneType {
		return
	}
	var values, plain []json.RawMessage
	_ = json.Unmarshal(raw, &values) // none if it is not a list
	null := false
	for _, v := range values {
		switch v[0] {
		case 'n':
			null = true
		case 't', 'f', '{', '[':
			w.drop(n, "enum")
			return
		default:
			plain = append(plain, v)
		}
	}
	if !null {
		return
	}
	switch {
	case n.get("anyOf") != nil:
		w.drop(n, "enum")
	case plain == nil:
		n.remove("enum")
		n.set("anyOf", json.RawMessage(`[{"type":"null"}]`))
	default:
		encoded := encode([]any{map[string]any{"enum": plain}, map[string]string{"type": "null"}})
		n.remove("enum")
		n.set("anyOf", encoded)
	}
}

// merge merges a schema that must hold too into a node, for a dialect without allOf.
func (w *rewriter) merge(n *schemaNode, schema json.RawMessage) {
	branch, _ := rawjson.Members(schema)
	if closes(n.list, branch) || closes(branch, n.list) {
		// The properties of the one are not among those that the other closes.
		n.wide = true
		w.mapped.drop("allOf.additionalProperties")
	}
	tuple := rawjson.Find(n.list, "prefixItems") != nil || rawjson.Find(branch, "prefixItems") != nil
	both := tuple && (n.get("items") != nil || n.get("prefixItems") != nil)
	for _, m := range branch {
		own := n.get(m.Name)
		switch {
		case !slices.Contains(constraints, m.Name):
			if own == nil {
				n.set(m.Name, m.Value)
			}
		case both && (m.Name == "items" || m.Name == "prefixItems"):
			w.loseOf(n, m)
		case own == nil:
			n.set(m.Name, m.Value)
		case string(own) == string(m.Value):
		case m.Name == "required":
			n.set(m.Name, unionOf(own, m.Value))
		case m.Name == "properties":
			n.set(m.Name, w.mergeProperties(n, own, m.Value))
		case m.Name == "type" && hasType(own, soleType(m.Value)):
			n.set(m.Name, m.Value)
		case m.Name == "type" && hasType(m.Value, soleType(own)):
		default:
			w.loseOf(n, m)
		}
	}
}

// loseOf records that a constraint of a merged schema is missing.
func (w *rewriter) loseOf(n *schemaNode, m rawjson.Member) { w.lose(n, m.Name, m.Value) }

// mergeProperties returns the merged properties of two schemas that must both hold.
func (w *rewriter) mergeProperties(n *schemaNode, own, other json.RawMessage) json.RawMessage {
	list, _ := rawjson.Members(own)
	further, _ := rawjson.Members(other)
	index := make(map[string]int, len(list))
	for i := range list {
		index[list[i].Name] = i
	}
	for _, p := range further {
		i, found := index[p.Name]
		if !found {
			list = append(list, p)
			continue
		}
		inner := &schemaNode{}
		inner.list, _ = rawjson.Members(list[i].Value)
		w.merge(inner, p.Value)
		if text := note("It", inner.told); text != "" {
			inner.set("description", describe(inner.get("description"), text))
		}
		list[i].Value, n.wide = rawjson.EncodeMembers(inner.list), n.wide || inner.wide
	}
	return rawjson.EncodeMembers(list)
}

// closes reports whether a schema limits properties that another one has.
func closes(schema, other []rawjson.Member) bool {
	if more := rawjson.Find(schema, "additionalProperties"); more == nil || string(more) == "true" || string(more) == "{}" {
		return false
	}
	list, _ := rawjson.Members(rawjson.Find(schema, "properties"))
	theirs, _ := rawjson.Members(rawjson.Find(other, "properties"))
	own := rawjson.IndexMembers(list)
	return slices.ContainsFunc(theirs, func(p rawjson.Member) bool { return !own[p.Name] })
}

// soleType returns the only type in the value of type, or an invalid type name.
func soleType(value json.RawMessage) string {
	if types := typesOf(value); len(types) == 1 {
		return types[0]
	}
	return ""
}

// unionOf returns the texts of two lists.
func unionOf(a, b json.RawMessage) json.RawMessage {
	var list, more []string
	_ = json.Unmarshal(a, &list) // none if it is not a list
	_ = json.Unmarshal(b, &more)
	known := make(map[string]bool, len(list)+len(more))
	for _, name := range list {
		known[name] = true
	}
	for _, name := range more {
		if !known[name] {
			known[name], list = true, append(list, name)
		}
	}
	encoded := encode(list)
	return encoded
}
