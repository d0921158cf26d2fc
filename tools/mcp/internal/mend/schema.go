package mend

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// maxMendedDepth bounds how deep a schema is mended. Deeper schemas do not compile anyway.
const maxMendedDepth = 64

// Schema returns a schema without insignificant space, so that one from a file compares with
// one from a server; nil for null. It replaces forms from older drafts, OpenAPI and careless
// servers with equivalent ones: null keywords, nullable, boolean exclusive bounds and required, and
// texts of another type. References to other documents are not followed.
func Schema(raw json.RawMessage) json.RawMessage {
	var out bytes.Buffer
	if json.Compact(&out, raw) != nil || out.String() == "null" {
		return nil // a decoder's output is valid JSON
	}
	if !needsMending(out.Bytes()) {
		return out.Bytes()
	}
	return mendDocument(out.Bytes())
}

// mendDocument mends a compact schema and the schemas in it.
func mendDocument(raw json.RawMessage) json.RawMessage {
	members, ok := rawjson.Members(raw)
	if !ok {
		return raw
	}
	m := schemaMender{id: textOf(rawjson.Find(members, "$id"))}
	ids := bytes.Count(raw, []byte(`"$id":`))
	m.elsewhere = ids > 1 || ids == 1 && m.id == ""
	draft := textOf(rawjson.Find(members, "$schema"))
	m.oldBounds = strings.Contains(draft, "draft-04")
	members = m.mendMembers(members, 0)
	for i := range members {
		if members[i].Name == "type" {
			members[i].Value = withoutNull(members[i].Value)
		}
	}
	if strings.Contains(draft, "draft-03") {
		members = slices.DeleteFunc(members, func(m rawjson.Member) bool { return m.Name == "$schema" })
	}
	return rawjson.EncodeMembers(members)
}

// unusual are texts of which a compact schema has one if it needs mending, except for keywords with
// a value of another type.
var unusual = [][]byte{[]byte("null"), []byte(`\u`), []byte(`\/`), []byte(`"$ref":`), []byte(`"exclusiveM`), []byte("draft-03")}

// needsMending reports whether a compact schema may need mending, which most schemas do not.
func needsMending(schema []byte) bool {
	if slices.ContainsFunc(unusual, func(text []byte) bool { return bytes.Contains(schema, text) }) {
		return true
	}
	hasOther := func(keyword, value string) bool {
		key := `"` + keyword + `":`
		return bytes.Count(schema, []byte(key)) != bytes.Count(schema, []byte(key+value))
	}
	return hasOther("required", "[") || slices.ContainsFunc(textKeywords, func(keyword string) bool { return hasOther(keyword, `"`) })
}

// schemaMender mends the schemas of a document.
type schemaMender struct {
	// id is the address of the document. elsewhere reports whether it contains other documents.
	id        string
	elsewhere bool
	// oldBounds keeps boolean exclusive bounds, as in draft 4.
	oldBounds bool
}

// textKeywords are the keywords whose value must be a text.
var textKeywords = []string{"title", "description", "$comment", "$schema"}

// mendSchema mends a schema and the schemas in it.
func (d *schemaMender) mendSchema(raw json.RawMessage, depth int) json.RawMessage {
	if depth > maxMendedDepth {
		return raw
	}
	members, ok := rawjson.Members(raw)
	if !ok {
		return raw
	}
	return rawjson.EncodeMembers(d.mendMembers(members, depth))
}

func (d *schemaMender) mendMembers(members []rawjson.Member, depth int) []rawjson.Member {
	if ref := textOf(rawjson.Find(members, "$ref")); d.isExternal(ref) {
		return dropConstraints(members, ref, depth == 0)
	}
	members = slices.DeleteFunc(members, func(m rawjson.Member) bool {
		isText := len(m.Value) > 0 && m.Value[0] == '"'
		return string(m.Value) == "null" && m.Name != "const" && m.Name != "default" || slices.Contains(textKeywords, m.Name) && !isText
	})
	required := requiredProperties(rawjson.Find(members, "properties"))
	for i := range members {
		members[i].Value = d.mendKeyword(&members[i], depth+1)
	}
	if !d.oldBounds {
		members = mendBounds(members)
	}
	members = mendRequired(members, required)
	if string(rawjson.Find(members, "nullable")) == "true" {
		members = allowNull(members)
	}
	return members
}

// isExternal reports whether a reference leads outside the document and not to a draft of JSON
// Schema.
func (d *schemaMender) isExternal(ref string) bool {
	if ref == "" || ref[0] == '#' || d.elsewhere || strings.HasPrefix(ref, "http://json-schema.org/") || strings.HasPrefix(ref, "https://json-schema.org/") {
		return false
	}
	address, _, _ := strings.Cut(ref, "#")
	return address != strings.TrimSuffix(d.id, "#")
}

// dropConstraints replaces a reference to another document with a schema of any value, or of any
// object at the root. Its description names the document.
func dropConstraints(members []rawjson.Member, ref string, isRoot bool) []rawjson.Member {
	text := strings.TrimSpace(textOf(rawjson.Find(members, "description")) + " It must satisfy the schema " + ref + ".")
	note, err := json.Marshal(text)
	if err != nil {
		return nil // a text always encodes
	}
	var open []rawjson.Member
	if isRoot {
		open = append(open, rawjson.Member{Name: "type", Value: json.RawMessage(`"object"`)})
	}
	for _, m := range members {
		if m.Name == "$defs" || m.Name == "definitions" {
			open = append(open, m) // other references may use it
		}
	}
	return append(open, rawjson.Member{Name: "description", Value: note})
}

// mendBounds replaces boolean exclusive bounds.
func mendBounds(members []rawjson.Member) []rawjson.Member {
	for _, bound := range []string{"minimum", "maximum"} {
		exclusive := "exclusiveM" + bound[1:]
		value := string(rawjson.Find(members, exclusive))
		if value != "true" && value != "false" {
			continue
		}
		members = slices.DeleteFunc(members, func(m rawjson.Member) bool { return m.Name == exclusive })
		for i := range members {
			if members[i].Name == bound && value == "true" {
				members[i].Name = exclusive
			}
		}
	}
	return members
}

// requiredProperties returns the names of the properties that are themselves marked as required.
func requiredProperties(properties json.RawMessage) (names []string) {
	if !bytes.Contains(properties, []byte(`"required":true`)) {
		return nil // properties are compact
	}
	named, _ := rawjson.Members(properties)
	for _, p := range named {
		if fields, ok := rawjson.Members(p.Value); ok && string(rawjson.Find(fields, "required")) == "true" {
			names = append(names, p.Name)
		}
	}
	return names
}

// mendRequired replaces a required that is not a list, and adds the names of further required
// properties.
func mendRequired(members []rawjson.Member, names []string) []rawjson.Member {
	given := rawjson.Find(members, "required")
	isList := len(given) > 0 && given[0] == '['
	if given == nil && names == nil || isList && names == nil {
		return members
	}
	var list []string
	if one := textOf(given); one != "" {
		list = []string{one}
	} else if isList && json.Unmarshal(given, &list) != nil {
		return members
	}
	for _, name := range names {
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	members = slices.DeleteFunc(members, func(m rawjson.Member) bool { return m.Name == "required" })
	if encoded, err := json.Marshal(list); err == nil && len(list) > 0 {
		members = append(members, rawjson.Member{Name: "required", Value: encoded})
	}
	return members
}

// withoutNull returns the types object and null as object, because arguments are never null.
func withoutNull(types json.RawMessage) json.RawMessage {
	var list []string
	if json.Unmarshal(types, &list) == nil && len(list) == 2 && slices.Contains(list, "object") && slices.Contains(list, "null") {
		return json.RawMessage(`"object"`)
	}
	return types
}

// textOf returns a JSON text; empty for anything else.
func textOf(raw json.RawMessage) (text string) {
	_ = json.Unmarshal(raw, &text) // empty for anything else
	return text
}

// mendKeyword returns the value of a keyword with the schemas in it mended.
func (d *schemaMender) mendKeyword(m *rawjson.Member, depth int) json.RawMessage {
	switch m.Name {
	case "items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames":
		return d.mendSchema(m.Value, depth)
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		named, ok := rawjson.Members(m.Value)
		if !ok {
			return m.Value
		}
		for i := range named {
			named[i].Value = d.mendSchema(named[i].Value, depth)
		}
		return rawjson.EncodeMembers(named)
	case "allOf", "anyOf", "oneOf", "prefixItems":
		var list []json.RawMessage
		if json.Unmarshal(m.Value, &list) != nil {
			return m.Value
		}
		for i := range list {
			list[i] = d.mendSchema(list[i], depth)
		}
		mended, err := json.Marshal(list)
		if err != nil {
			return m.Value
		}
		return mended
	default:
		return m.Value
	}
}

// allowNull adds null to the type and the choices of a nullable schema. A schema without a
// type allows null already.
func allowNull(members []rawjson.Member) []rawjson.Member {
	members = slices.DeleteFunc(members, func(m rawjson.Member) bool { return m.Name == "nullable" })
	for i := range members {
		m := &members[i]
		if m.Name != "type" && m.Name != "enum" {
			continue
		}
		null := json.RawMessage(`"null"`)
		if m.Name == "enum" {
			null = json.RawMessage("null")
		}
		var list []json.RawMessage
		if json.Unmarshal(m.Value, &list) != nil {
			list = []json.RawMessage{m.Value}
		}
		if !slices.ContainsFunc(list, func(v json.RawMessage) bool { return bytes.Equal(v, null) }) {
			list = append(list, null)
		}
		if mended, err := json.Marshal(list); err == nil {
			m.Value = mended
		}
	}
	return members
}
