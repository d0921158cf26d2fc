package fieldtest

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// Fields collects the paths of the fields of requests.
type Fields struct {
	// Document is the OpenAPI document whose references are followed.
	Document map[string]any
	found    []string
}

// OfOperation returns the fields of the body, query and headers of one of the document's
// operations.
func (f *Fields) OfOperation(path, method string) []string {
	f.found = nil
	item := f.at("paths", path)
	operation, _ := item[method].(map[string]any)
	for _, of := range []map[string]any{item, operation} {
		list, _ := of["parameters"].([]any)
		for _, one := range list {
			parameter := f.resolve(one)
			in, _ := parameter["in"].(string)
			name, _ := parameter["name"].(string)
			if in != "path" {
				f.found = append(f.found, in+":"+name)
			}
		}
	}
	content, _ := f.resolve(operation["requestBody"])["content"].(map[string]any)
	for _, media := range content {
		body, _ := media.(map[string]any)
		f.walk(body["schema"], "", nil)
	}
	slices.Sort(f.found)
	return slices.Compact(f.found)
}

func (f *Fields) at(path ...string) map[string]any {
	value := f.Document
	for _, name := range path {
		value, _ = value[name].(map[string]any)
	}
	return value
}

// resolve follows a reference.
func (f *Fields) resolve(value any) map[string]any {
	object, _ := value.(map[string]any)
	for {
		ref, ok := object["$ref"].(string)
		if !ok {
			return object
		}
		object = f.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
}

func (f *Fields) walk(schema any, path string, seen []string) {
	if object, ok := schema.(map[string]any); ok {
		if ref, ok := object["$ref"].(string); ok {
			if slices.Contains(seen, ref) {
				return
			}
			seen = append(slices.Clip(seen), ref)
		}
	}
	s := f.resolve(schema)
	properties, _ := s["properties"].(map[string]any)
	for name, inner := range properties {
		at := strings.TrimPrefix(path+"."+name, ".")
		f.found = append(f.found, at)
		f.walk(inner, at, seen)
	}
	if inner, ok := s["additionalProperties"].(map[string]any); ok {
		f.walk(inner, path+".*", seen)
	}
	f.walkList(s, path, seen)
}

func (f *Fields) walkList(s map[string]any, path string, seen []string) {
	if s["items"] != nil {
		f.walk(s["items"], path+"[]", seen)
	}
	for _, union := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := s[union].([]any)
		for _, one := range list {
			f.walk(one, path, seen)
		}
	}
}

// OfMessage returns the fields of a protobuf message. With json they have their JSON names.
func OfMessage(message protoreflect.MessageDescriptor, json bool) []string {
	var found []string
	var walk func(m protoreflect.MessageDescriptor, path string, seen []protoreflect.FullName)
	walk = func(m protoreflect.MessageDescriptor, path string, seen []protoreflect.FullName) {
		if slices.Contains(seen, m.FullName()) {
			return
		}
		seen = append(slices.Clip(seen), m.FullName())
		for i := range m.Fields().Len() {
			field := m.Fields().Get(i)
			name := string(field.Name())
			if json {
				name = field.JSONName()
			}
			at := strings.TrimPrefix(path+"."+name, ".")
			found = append(found, at)
			inner := field.Message()
			if inner == nil || field.IsMap() || strings.HasPrefix(string(inner.FullName()), "google.protobuf.") {
				continue
			}
			if field.IsList() {
				at += "[]"
			}
			walk(inner, at, seen)
		}
	}
	walk(message, "", nil)
	slices.Sort(found)
	return found
}
