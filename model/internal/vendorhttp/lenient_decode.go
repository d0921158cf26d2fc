package vendorhttp

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// decodeLeniently decodes JSON from servers that send wrong types: an object becomes a list of one
// or of its numbered members, numbers become strings, and empty values (IsNothing) zero values.
// Objects and lists may be encoded twice. Other values may hold part of the answer and return an
// *json.UnmarshalTypeError.
func decodeLeniently(data []byte, into any) error {
	v := reflect.ValueOf(into).Elem()
	v.SetZero()
	return decodeValue(data, v, "")
}

var unmarshalerType = reflect.TypeFor[json.Unmarshaler]()

func decodeValue(data json.RawMessage, v reflect.Value, field string) error {
	switch {
	case string(data) == "null", v.Kind() == reflect.Pointer && IsNothing(data) && data[0] != '{':
		v.SetZero()
		return nil
	case v.Kind() == reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return decodeValue(data, v.Elem(), field)
	case v.Addr().Type().Implements(unmarshalerType):
		return v.Addr().Interface().(json.Unmarshaler).UnmarshalJSON(data)
	}
	switch v.Kind() {
	case reflect.Struct:
		return decodeStruct(data, v, field)
	case reflect.Slice:
		if v.Type().Elem().Kind() != reflect.Uint8 {
			return decodeList(data, v, field)
		}
	case reflect.String:
		var text Text
		if data[0] != '{' && data[0] != '[' || IsNothing(data) {
			err := text.UnmarshalJSON(data)
			v.SetString(string(text))
			return err
		}
	case reflect.Bool:
		v.SetBool(string(data) == "true" || string(data) == `"true"`)
		return nil
	default:
	}
	if json.Unmarshal(data, v.Addr().Interface()) == nil || IsNothing(data) {
		return nil
	}
	return mismatchError(data, v, field)
}

// textDecoder is implemented by structs that some servers send as a string. DecodeText reports
// whether it decoded the string, which may be the object encoded twice.
type textDecoder interface{ DecodeText(text string) bool }

// encodedTwice returns the JSON value in a JSON string if it begins with the given byte, or else
// data.
func encodedTwice(data json.RawMessage, begin byte) json.RawMessage {
	var text string
	if len(data) == 0 || data[0] != '"' || json.Unmarshal(data, &text) != nil {
		return data
	}
	if text = strings.TrimSpace(text); text == "" || text[0] != begin || !json.Valid([]byte(text)) {
		return data
	}
	return json.RawMessage(text)
}

// onlyElement returns the element of a one-element list, and other data unchanged.
func onlyElement(data json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if data[0] != '[' || json.Unmarshal(data, &list) != nil || len(list) != 1 {
		return data
	}
	return list[0]
}

func decodeStruct(data json.RawMessage, v reflect.Value, field string) error {
	if IsNothing(data) {
		return nil
	}
	if d, ok := v.Addr().Interface().(textDecoder); ok && data[0] == '"' {
		var text Text
		if err := text.UnmarshalJSON(data); err != nil {
			return err
		}
		if d.DecodeText(string(text)) {
			return nil
		}
	}
	data = onlyElement(encodedTwice(data, '{'))
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		return mismatchError(data, v, field)
	}
	return decodeMembers(members, v, field)
}

func decodeMembers(members map[string]json.RawMessage, v reflect.Value, field string) error {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		var err error
		if f.Anonymous && name == "" {
			err = decodeMembers(members, v.Field(i), field)
		} else if value, ok := members[name]; ok {
			err = decodeValue(value, v.Field(i), field+"."+name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func decodeList(data json.RawMessage, v reflect.Value, field string) error {
	data = encodedTwice(encodedTwice(data, '['), '{')
	var elements []json.RawMessage
	switch {
	case data[0] == '{' && !IsNothing(data):
		elements = numberedElements(data)
	case json.Unmarshal(data, &elements) == nil, IsNothing(data):
	default:
		return mismatchError(data, v, field)
	}
	for _, element := range elements {
		if string(element) == "null" {
			continue
		}
		one := reflect.New(v.Type().Elem()).Elem()
		if err := decodeValue(element, one, field); err != nil {
			return err
		}
		v.Set(reflect.Append(v, one))
	}
	return nil
}

// numberedElements returns the elements of a list sent as an object with numeric names, as PHP
// does. It returns any other object as the only element.
func numberedElements(object json.RawMessage) []json.RawMessage {
	var members map[int]json.RawMessage
	if json.Unmarshal(object, &members) != nil {
		return []json.RawMessage{object}
	}
	elements := make([]json.RawMessage, 0, len(members))
	for _, n := range slices.Sorted(maps.Keys(members)) {
		elements = append(elements, members[n])
	}
	return elements
}

// mismatchError returns the error for a value whose type does not fit v.
func mismatchError(data json.RawMessage, v reflect.Value, field string) error {
	value := "number"
	switch data[0] {
	case '{':
		value = "object"
	case '[':
		value = "array"
	case '"':
		value = "string"
	case 't', 'f':
		value = "bool"
	}
	return &json.UnmarshalTypeError{Value: value, Field: field, Type: v.Type()}
}
