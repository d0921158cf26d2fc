package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
)

// MergePatch applies a JSON merge patch (RFC 7396) to a document. Members keep their order, new
// ones come last, and numbers keep their digits. An empty document counts as null. It fails if
// the document or patch is invalid JSON, is nested too deeply, or repeats a member.
func MergePatch(document, patch json.RawMessage) (json.RawMessage, error) {
	over, err := decodeDocument(patch)
	if err != nil {
		return nil, fmt.Errorf("decode patch: %w", err)
	}
	var base any
	if len(document) > 0 {
		if base, err = decodeDocument(document); err != nil {
			return nil, fmt.Errorf("decode document: %w", err)
		}
	}
	return encodeDocument(mergeValues(base, over, false))
}

// mergeValues merges decoded JSON values per RFC 7396. With keepNull, null sets a member to null
// instead of removing it.
func mergeValues(base, over any, keepNull bool) any {
	patch, ok := over.(object)
	if !ok {
		return over
	}
	known, _ := base.(object)
	merged := slices.Clone(known)
	at := make(map[string]int, len(merged)+len(patch))
	for i, m := range merged {
		at[m.name] = i
	}
	removed := map[string]bool{}
	for _, m := range patch {
		i, have := at[m.name]
		switch {
		case m.value == nil && !keepNull:
			removed[m.name] = true
		case m.value == nil && have:
			merged[i].value = nil
		case have:
			merged[i].value = mergeValues(merged[i].value, m.value, keepNull)
		default:
			merged = merged.with(m.name, mergeValues(nil, m.value, keepNull))
		}
	}
	if merged == nil {
		return object{}
	}
	return slices.DeleteFunc(merged, func(m member) bool { return removed[m.name] })
}

// decodeDocument decodes one JSON value whose objects repeat no member.
func decodeDocument(raw json.RawMessage) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	v, err := decodeOrdered(decoder)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return v, checkMembers(v)
}

// checkMembers rejects objects that repeat a member, because readers disagree on which of the two
// counts.
func checkMembers(v any) error {
	switch v := v.(type) {
	case object:
		seen := make(map[string]bool, len(v))
		for _, m := range v {
			if seen[m.name] {
				return fmt.Errorf("the member %q is repeated", clip.Text(m.name))
			}
			seen[m.name] = true
			if err := checkMembers(m.value); err != nil {
				return err
			}
		}
	case []any:
		for _, e := range v {
			if err := checkMembers(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func encodeDocument(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// ApplyPatches merges patches, in the form of a file's patches key, into the entries of a
// configuration document. Variables in both stay variables. Inherited values are merged only when
// the result is parsed. Diagnostic paths begin with patches; on an error, no document is returned.
func ApplyPatches(document, patches json.RawMessage) (json.RawMessage, diag.List) {
	doc, err := decodeMembers(document)
	if err != nil {
		return nil, diag.List{diag.New(diag.InvalidValue, "", "the document cannot be patched: %v", err)}
	}
	all, err := decodeMembers(patches)
	if err != nil {
		return nil, diag.List{diag.New(diag.InvalidValue, patchesKey, "patches cannot be read: %v", err)}
	}
	var list diag.List
	for _, registry := range all {
		path := diag.Key(patchesKey, registry.name)
		switch {
		case registry.name == allowWideningKey, isExtension(registry.name):
		case !contains(patchable, registry.name):
			list = append(list, diag.New(diag.UnknownField, path, "unknown field %q", clip.Text(registry.name)).WithNearest(registry.name, patchable))
		case !isNullJSON(registry.value):
			patched, found := patchEntries(registry.name, doc.find(registry.name), registry.value)
			list = append(list, found...)
			if !found.HasErrors() {
				doc = doc.set(registry.name, patched)
			}
		}
	}
	if list.HasErrors() {
		return nil, list
	}
	out, err := doc.encode()
	if err != nil {
		return nil, diag.List{diag.New(diag.InvalidValue, "", "the document cannot be patched: %v", err)}
	}
	return out, list
}

// patchEntries merges the patches of one registry.
func patchEntries(registry string, entries, patches json.RawMessage) (json.RawMessage, diag.List) {
	base := diag.Key(patchesKey, registry)
	all, err := decodeMembers(patches)
	if err != nil {
		return nil, diag.List{diag.New(diag.InvalidValue, base, "%s: %v", registry, err)}
	}
	var known rawObject
	if len(entries) > 0 && !isNullJSON(entries) {
		if known, err = decodeMembers(entries); err != nil {
			return nil, diag.List{diag.New(diag.InvalidValue, registry, "%s: %v", registry, err)}
		}
	}
	var list diag.List
	for _, p := range all {
		path := diag.Key(base, p.name)
		entry := known.find(p.name)
		switch {
		case entry == nil:
			list = append(list, diag.New(diag.UnmatchedPatch, path, "there is no %s %q to patch", registryNamed(registry).noun, clip.Text(p.name)).
				WithNearest(p.name, known.names()))
		case isNullJSON(p.value):
			known = slices.DeleteFunc(known, func(m rawMember) bool { return m.name == p.name })
		default:
			merged, err := patchEntry(registry, entry, p.value)
			if err != nil {
				list = append(list, diag.New(diag.InvalidValue, path, "%s: %v", clip.Text(p.name), err))
				continue
			}
			known = known.set(p.name, merged)
		}
	}
	if list.HasErrors() {
		return nil, list
	}
	out, err := known.encode()
	if err != nil {
		return nil, diag.List{diag.New(diag.InvalidValue, base, "%s: %v", registry, err)}
	}
	return out, list
}

// patchEntry merges a patch, without its allow_widening, into one entry. In an agent that extends
// another, null also clears inherited values, so it stays.
func patchEntry(registry string, entry, patch json.RawMessage) (json.RawMessage, error) {
	members, err := decodeMembers(patch)
	if err != nil {
		return nil, err
	}
	members = slices.DeleteFunc(members, func(m rawMember) bool { return m.name == allowWideningKey })
	if patch, err = members.encode(); err != nil {
		return nil, err
	}
	merged, err := MergePatch(entry, patch)
	if err != nil || registry != agentsKey || !bytes.Contains(patch, []byte("null")) {
		return merged, err
	}
	var agent struct {
		Extends string `json:"extends"`
	}
	if json.Unmarshal(merged, &agent) != nil || agent.Extends == "" {
		return merged, nil
	}
	return clearInEntry(entry, members)
}

// clearInEntry merges a patch into an agent that extends another. Null for a list of excluded
// names becomes an empty list. A removed allow list is no longer inherited, unless the agent has
// no allow list itself, which cannot be expressed.
func clearInEntry(entry json.RawMessage, patch rawObject) (json.RawMessage, error) {
	lists := rawObject{}
	for _, m := range patch {
		if isNamesField(m.name) && isNullJSON(m.value) && strings.HasPrefix(m.name, "allowed_") {
			lists = append(lists, m)
		}
	}
	patch = slices.DeleteFunc(patch, func(m rawMember) bool { return lists.find(m.name) != nil })
	text, err := lists.encode()
	if err != nil {
		return nil, err
	}
	if entry, err = MergePatch(entry, text); err != nil {
		return nil, err
	}
	base, err := decodeDocument(entry)
	if err != nil {
		return nil, err
	}
	if text, err = patch.encode(); err != nil {
		return nil, err
	}
	over, err := decodeDocument(text)
	if err != nil {
		return nil, err
	}
	return encodeDocument(mergeValues(base, over, true))
}

// rawObject is a JSON object that preserves the order and text of its members.
type rawObject []rawMember

type rawMember struct {
	name  string
	value json.RawMessage
}

// decodeMembers decodes an object without decoding its members' values.
func decodeMembers(raw json.RawMessage) (rawObject, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	if token != json.Delim('{') {
		return nil, errors.New("it must be a JSON object")
	}
	o := rawObject{}
	seen := map[string]bool{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		m := rawMember{}
		m.name, _ = name.(string)
		if seen[m.name] {
			return nil, fmt.Errorf("the member %q is repeated", clip.Text(m.name))
		}
		seen[m.name] = true
		if err := decoder.Decode(&m.value); err != nil {
			return nil, err
		}
		o = append(o, m)
	}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("more than one JSON value")
	}
	return o, nil
}

func isNullJSON(raw json.RawMessage) bool { return bytes.Equal(bytes.TrimSpace(raw), []byte("null")) }

func (o rawObject) find(name string) json.RawMessage {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

func (o rawObject) names() []string {
	names := make([]string, len(o))
	for i, m := range o {
		names[i] = m.name
	}
	return names
}

// set returns the object with the named member replaced or added.
func (o rawObject) set(name string, value json.RawMessage) rawObject {
	for i := range o {
		if o[i].name == name {
			o[i].value = value
			return o
		}
	}
	return append(o, rawMember{name, value})
}

func (o rawObject) encode() (json.RawMessage, error) {
	members := make(object, len(o))
	for i, m := range o {
		members[i] = member{m.name, m.value}
	}
	return encodeDocument(members)
}
