package toolschema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// The limits of rewriting. Schemas beyond them accept anything.
const (
	maxNesting = 64
	maxParts   = 4000
)

// rewrite returns a schema in the dialect, and reports whether it accepts more than before.
func (w *rewriter) rewrite(raw json.RawMessage) (_ json.RawMessage, wide bool) {
	atRoot := w.atRoot
	w.atRoot = false
	w.parts++
	if w.depth > maxNesting || w.parts > maxParts {
		w.mapped.drop("deeply nested schemas")
		return json.RawMessage(`{}`), true
	}
	list, ok := rawjson.Members(raw)
	if !ok && !atRoot {
		return w.rewriteBoolean(raw)
	}
	w.depth++
	defer func() { w.depth-- }()
	n := &schemaNode{list: list}
	w.normalize(n)
	branch := w.followRef(n)
	for i := range n.list {
		w.rewriteMember(n, &n.list[i])
	}
	w.dropNegated(n)
	w.dropLost(n)
	w.settle(n, branch)
	if atRoot {
		w.finishRoot(n)
	} else if text := note("It", n.told); text != "" {
		n.set("description", describe(n.get("description"), text))
	}
	return rawjson.EncodeMembers(n.list), n.wide
}

// rewriteBoolean returns the schema for true, false and invalid schemas.
func (w *rewriter) rewriteBoolean(raw json.RawMessage) (json.RawMessage, bool) {
	switch {
	case string(raw) == "true":
		return json.RawMessage(`{}`), false
	case string(raw) == "false" && w.accepts("not"):
		return json.RawMessage(`{"not":{}}`), false
	default:
		w.mapped.drop("false")
		return json.RawMessage(`{}`), true
	}
}

// normalize converts the forms of older drafts and OpenAPI to draft 2020-12.
func (w *rewriter) normalize(n *schemaNode) {
	n.list = slices.DeleteFunc(n.list, func(m rawjson.Member) bool {
		return slices.Contains(noNotes, m.Name) || w.draft < keywordDrafts[m.Name] ||
			string(m.Value) == "null" && !slices.Contains(nullValues, m.Name)
	})
	if items := n.get("items"); len(items) > 0 && items[0] == '[' {
		n.remove("items")
		n.set("prefixItems", items)
		if more := n.get("additionalItems"); more != nil {
			n.set("items", more)
		}
		n.remove("additionalItems")
	} else {
		n.remove("additionalItems") // meaningless without a list of items
	}
	for _, bound := range []string{"minimum", "maximum"} {
		exclusive := "exclusiveM" + bound[1:]
		switch string(n.get(exclusive)) {
		case "true":
			n.remove(exclusive)
			if limit := n.get(bound); limit != nil {
				n.remove(bound)
				n.set(exclusive, limit)
			}
		case "false":
			n.remove(exclusive)
		}
	}
	if w.dialect.inlineRefs {
		n.remove("$defs")
		n.remove("definitions")
	}
	if n.get("if") == nil {
		n.remove("then")
		n.remove("else")
	}
	w.drop(n, unmapped...)
}

// followRef replaces a reference by its target. It returns the target if it applies in addition
// to the node's other schemas.
func (w *rewriter) followRef(n *schemaNode) (branch json.RawMessage) {
	raw := n.get("$ref")
	if raw == nil {
		return nil
	}
	if w.ignoresSiblings() {
		n.list = slices.DeleteFunc(n.list, func(m rawjson.Member) bool {
			return m.Name != "$ref" && slices.Contains(constraints, m.Name)
		})
	}
	var ref string
	_ = json.Unmarshal(raw, &ref) // a non-string has no target
	target := w.target(ref)
	switch {
	case target == nil:
		w.drop(n, "$ref")
	case w.keepsRef(ref):
		w.refs.kept = true
		n.wide = n.wide || w.refs.wide
	case slices.Contains(w.following, ref):
		n.remove("$ref")
		w.mapped.drop("recursive $ref")
		n.wide = true
		recursive, _ := rawjson.Members(target)
		for _, name := range []string{"type", "description"} {
			if value := rawjson.Find(recursive, name); value != nil && n.get(name) == nil && value[0] == '"' {
				n.set(name, value)
			}
		}
	default:
		n.remove("$ref")
		w.following = append(w.following, ref)
		inlined, wide := w.rewrite(target)
		w.following = w.following[:len(w.following)-1]
		n.wide = n.wide || wide
		return inlined
	}
	return nil
}

// keepsRef reports whether a reference names a definition that stays in place.
func (w *rewriter) keepsRef(ref string) bool {
	for _, place := range []string{"#/$defs/", "#/definitions/"} {
		if name, ok := strings.CutPrefix(ref, place); ok {
			return !w.dialect.inlineRefs && !strings.Contains(name, "/")
		}
	}
	return false
}

// settle converts the rewritten schema to the dialect's form.
func (w *rewriter) settle(n *schemaNode, branch json.RawMessage) {
	if value := n.get("oneOf"); value != nil && !w.accepts("oneOf") && n.get("anyOf") == nil {
		w.loosen(n, value)
	}
	w.settleValues(n)
	w.settleAll(n, branch)
	if n.get("patternProperties") != nil && !w.accepts("patternProperties") {
		w.drop(n, "additionalProperties")
	}
	for _, m := range slices.Clone(n.list) {
		switch {
		case slices.Contains(constraints, m.Name):
			if !w.accepts(m.Name) && m.Name != "$ref" {
				w.drop(n, m.Name)
			}
		case w.dialect.keywords != nil && m.Name != "title" && m.Name != "description":
			n.remove(m.Name)
		}
	}
	w.defineRequired(n)
	w.complete(n, "array", "items")
	w.complete(n, "object", "properties")
}

// defineRequired defines undefined required properties, for a dialect that rejects them. If
// other properties are not allowed, the schema accepts more than before.
func (w *rewriter) defineRequired(n *schemaNode) {
	var required []string
	if !w.dialect.definesRequired || json.Unmarshal(n.get("required"), &required) != nil {
		return
	}
	properties, _ := rawjson.Members(n.get("properties"))
	known, defined := len(properties), rawjson.IndexMembers(properties)
	for _, name := range required {
		if !defined[name] {
			defined[name] = true
			schema := json.RawMessage(`{}`)
			if more := n.get("additionalProperties"); len(more) > 0 && more[0] == '{' {
				schema = more
			}
			properties = append(properties, rawjson.Member{Name: name, Value: schema})
		}
	}
	if len(properties) == known {
		return
	}
	n.set("properties", rawjson.EncodeMembers(properties))
	if more := n.get("additionalProperties"); string(more) == "false" {
		w.lose(n, "additionalProperties", more)
	}
}

// complete adds an empty keyword that the dialect requires for a type.
func (w *rewriter) complete(n *schemaNode, kind, keyword string) {
	if slices.Contains(w.dialect.completes, kind) && hasType(n.get("type"), kind) && n.get(keyword) == nil {
		n.set(keyword, json.RawMessage(`{}`))
	}
}

// settleAll adds the schemas that also apply: allOf, and the branch.
func (w *rewriter) settleAll(n *schemaNode, branch json.RawMessage) {
	var all []json.RawMessage
	_ = json.Unmarshal(n.get("allOf"), &all) // none if it is not a list
	if branch != nil {
		all = append(all, branch)
	}
	if len(all) == 0 {
		return
	}
	alone := !slices.ContainsFunc(n.list, func(m rawjson.Member) bool { return slices.Contains(constraints, m.Name) && m.Name != "allOf" })
	if w.accepts("allOf") && (!alone || len(all) > 1) {
		encoded := encode(all)
		n.set("allOf", encoded)
		return
	}
	n.remove("allOf")
	for _, one := range all {
		w.merge(n, one)
	}
}

// finishRoot makes the root an object schema. The tool's description lists the dropped
// constraints.
func (w *rewriter) finishRoot(n *schemaNode) {
	if string(n.get("type")) != `"object"` {
		n.set("type", json.RawMessage(`"object"`))
		w.complete(n, "object", "properties")
	}
	if allowed := w.dialect.root; allowed != nil {
		for _, m := range slices.Clone(n.list) {
			if slices.Contains(allowed, m.Name) {
				continue
			}
			if slices.Contains(constraints, m.Name) {
				w.drop(n, m.Name)
			}
			n.remove(m.Name)
		}
	}
	if string(n.told["additionalProperties"]) == "false" {
		delete(n.told, "additionalProperties") // models need not know
	}
	if text := note("The arguments", n.told); text != "" {
		w.mapped.Note = strings.TrimPrefix(w.mapped.Note+"\n"+text, "\n")
	}
}
