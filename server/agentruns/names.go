package agentruns

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/internal/clip"
)

var (
	// unsupportedFields are fields of a spec that are not implemented although they would affect
	// the run, and idleValues are values of them that ask for nothing.
	unsupportedFields = []string{"attachments", "fallbackModelId", "plan", "supervisor"}
	idleValues        = map[string][]string{"plan": {"false", `"off"`}, "supervisor": {"false"}}
)

// unknownFields returns warnings for unknown fields of a spec and the objects in it. also lists
// fields that are allowed in addition to a spec's.
func (f fields) unknownFields(also ...string) ([]warning, error) {
	for _, name := range unsupportedFields {
		if value, has := f[name]; has && !slices.Contains(idleValues[name], string(value)) {
			return nil, newInvalid("%s is not supported", name)
		}
	}
	list, err := f.warnUnknown("", slices.Concat(identityFields, runFields, inputFields, unsupportedFields, []string{fieldMetadata}, also)...)
	if err != nil {
		return nil, err
	}
	inner := func(path string, object fields, known []string) error {
		more, err := object.warnUnknown(path, known...)
		list = append(list, more...)
		return err
	}
	for _, field := range []struct {
		name  string
		known []string
	}{{fieldBudgets, namesOf(budgetsBody{})}, {fieldOutputSchema, namesOf(outputBody{})}, {fieldLoopDetection, namesOf(loopBody{})}} {
		if object, err := f.readObject(field.name); err == nil { // non-objects are rejected where they are read
			if err := inner(field.name, object, field.known); err != nil {
				return nil, err
			}
		}
	}
	if budgets, err := f.readObject(fieldToolBudgets); err == nil {
		for _, tool := range slices.Sorted(maps.Keys(budgets)) {
			if entry, err := budgets.readObject(tool); err == nil {
				if err := inner(fieldToolBudgets+"."+clip.Text(tool), entry, namesOf(budgetBody{})); err != nil {
					return nil, err
				}
			}
		}
	}
	var messages []fields
	if f.readField(fieldMessages, &messages, "") == nil {
		for _, m := range messages {
			if err := inner(fieldMessages+"[]", m, namesOf(inputMessage{})); err != nil {
				return nil, err
			}
		}
	}
	var refs []json.RawMessage
	if f.readField(fieldTools, &refs, "") == nil {
		for i, raw := range refs {
			more, err := unknownRefFields(fmt.Sprintf("%s[%d]", fieldTools, i), raw)
			if err != nil {
				return nil, err
			}
			list = append(list, more...)
		}
	}
	return slices.Compact(list), nil
}
