package vendorhttp

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// decodeLeniently decodes JSON from servers that send wrong types: an object becomes a list of one or
// of its numbered members, numbers become texts, and empty values (IsNothing) zero values. Others may
// hold part of the answer and return an *json.UnmarshalTypeError.
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

func decodeStruct(data json.RawMessage, v reflect.Value, field string) error {
	var members map[string]json.RawMessage
	if json.Unmarshal(data, &members) != nil {
		if IsNothing(data) {
			return nil
		}
		return mismatchError(data, v, field)
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		var err error
		if f.Anonymous && name == "" {
			err = decodeStruct(data, v.Field(i), field)
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

// numberedElements returns the elements of a list that was sent as an object with numbers as names, as
// PHP does. It returns any other object as the only element.
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
