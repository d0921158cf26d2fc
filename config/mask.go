package config

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/secret"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/redact"
)

// secretMembers matches members in a document's text that may hold secrets.
var secretMembers = regexp.MustCompile(`"(?:env|headers|params|query|[a-z_]*(?:key|key_id|token|secret|password|header))"\s*:`)

// urlMark finds texts that may be URLs with parameters.
var urlMark = regexp.MustCompile(`[:}](?:\\?/){1,2}|"(?:[a-z_]*url|card_list)"`)

// MaskDocument masks values in env, headers, key fields and URL parameters that are not references,
// in a document or overlay. Documents from earlier runtime versions may contain such values. An
// unreadable document becomes an empty object.
func MaskDocument(document []byte, options Options) json.RawMessage {
	if !secretMembers.Match(document) && !urlMark.Match(document) {
		return document
	}
	decoder := json.NewDecoder(bytes.NewReader(document))
	decoder.UseNumber()
	var root map[string]any
	if decoder.Decode(&root) != nil {
		return json.RawMessage(`{}`)
	}
	patches := root[keys.Patches] // their values replace others, and some are for entries elsewhere
	delete(root, keys.Patches)
	declared, err := json.Marshal(root)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	file, _ := Parse([]Source{{Name: "document", Data: declared}}, options)
	found := maskNamed(patches, false)
	for _, noted := range file.tree.Noted.Texts {
		for _, path := range []string{noted.Plain, noted.Masked} {
			if path == "" {
				continue
			}
			if at, ok := diag.ParsePath(path); !ok || !maskAt(root, at) {
				return json.RawMessage(`{}`)
			}
			found = true
		}
	}
	if patches != nil {
		root[keys.Patches] = patches
	}
	found = maskURLs(root) || found
	if !found {
		return document
	}
	masked, err := json.Marshal(root)
	if err != nil {
		return json.RawMessage(`{}`)
	}
	return masked
}

// maskAt masks the text at a path and reports whether it is there.
func maskAt(value any, path []diag.Segment) bool {
	for i, segment := range path {
		last := i == len(path)-1
		switch v := value.(type) {
		case map[string]any:
			if _, ok := v[segment.Key]; ok && last {
				v[segment.Key] = redact.Placeholder
				return true
			}
			value = v[segment.Key]
		case []any:
			if segment.Index < 0 || segment.Index >= len(v) {
				return false
			}
			if last {
				v[segment.Index] = redact.Placeholder
				return true
			}
			value = v[segment.Index]
		}
	}
	return false
}

// maskNamed masks texts in fields whose names suggest secrets, and reports whether there are any.
// all is set below env and headers.
func maskNamed(value any, all bool) (found bool) {
	switch v := value.(type) {
	case map[string]any:
		for name, one := range v {
			text, isText := one.(string)
			isSecret := all || secretMembers.MatchString(`"`+name+`":`)
			switch {
			case isText && isSecret && !secret.IsReference(text):
				v[name], found = redact.Placeholder, true
			case !isText:
				mapping := slices.Contains([]string{"env", "headers", "params", "query"}, name)
				found = maskNamed(one, mapping) || found
			}
		}
	case []any:
		for _, one := range v {
			found = maskNamed(one, all) || found
		}
	}
	return found
}

// maskURLs masks the users and the parameters of URLs below a value, and reports whether there
// are any.
func maskURLs(value any) (found bool) {
	mask := func(name string, value any) any {
		text, isText := value.(string)
		if !isText {
			found = maskURLs(value) || found
			return value
		}
		if !redact.IsURL(name, text) {
			return value
		}
		masked := redact.URL(text)
		found = found || masked != text
		return masked
	}
	switch v := value.(type) {
	case map[string]any:
		for name, one := range v {
			v[name] = mask(name, one)
		}
	case []any:
		for i, one := range v {
			v[i] = mask("", one)
		}
	}
	return found
}
