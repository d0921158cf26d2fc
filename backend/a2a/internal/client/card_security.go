package client

import (
	"encoding/json"
	"maps"
	"slices"
)

// listScopes rewrites the security requirements of a card and its skills for the SDK, which expects
// a scheme's scopes as an array. In the protocol they are an object with an optional list. It
// modifies fields.
func listScopes(fields map[string]json.RawMessage) error {
	if err := listRequirements(fields); err != nil {
		return err
	}
	var skills []map[string]json.RawMessage
	if json.Unmarshal(fields["skills"], &skills) != nil || skills == nil {
		return nil //nolint:nilerr // reading the card reports it
	}
	for _, skill := range skills {
		if err := listRequirements(skill); err != nil {
			return err
		}
	}
	return putField(fields, "skills", skills)
}

const keyRequirements = "securityRequirements"

func listRequirements(fields map[string]json.RawMessage) error {
	var requirements []map[string]map[string]json.RawMessage
	if json.Unmarshal(fields[keyRequirements], &requirements) != nil || len(requirements) == 0 {
		return nil //nolint:nilerr // it has another form
	}
	for _, requirement := range requirements {
		schemes := requirement["schemes"]
		for _, name := range slices.Collect(maps.Keys(schemes)) {
			var scopes struct {
				List []string `json:"list"`
			}
			if json.Unmarshal(schemes[name], &scopes) != nil {
				continue // an array already
			}
			if err := putField(schemes, name, append([]string{}, scopes.List...)); err != nil {
				return err
			}
		}
	}
	return putField(fields, keyRequirements, requirements)
}

// putField sets a field to the JSON of a value.
func putField(fields map[string]json.RawMessage, name string, value any) error {
	data, err := json.Marshal(value)
	fields[name] = data
	return err
}
