package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// variableFlags are a turn's variables from --var.
type variableFlags struct{ values map[string]json.RawMessage }

// String returns the variables' names only: their values are secret.
func (v *variableFlags) String() string {
	names := make([]string, 0, len(v.values))
	for name := range v.values {
		names = append(names, name)
	}
	sort.Strings(names)
	return strings.Join(names, ",")
}

// Type names the value in the help.
func (v *variableFlags) Type() string { return "variable" }

// Set adds NAME=TEXT or NAME:=JSON. The value never appears in the error.
func (v *variableFlags) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("it must be NAME=TEXT or NAME:=JSON")
	}
	name, isJSON := strings.CutSuffix(name, ":")
	if !spec.IsVariableName(name) {
		return fmt.Errorf("%q is not a valid variable name", name)
	}
	if _, twice := v.values[name]; twice {
		return fmt.Errorf("%s is set twice", name)
	}
	raw := json.RawMessage(value)
	if !isJSON {
		var err error
		if raw, err = json.Marshal(value); err != nil {
			return fmt.Errorf("%s is not a text", name)
		}
	} else if !json.Valid(raw) {
		return fmt.Errorf("%s is not JSON", name)
	}
	if v.values == nil {
		v.values = map[string]json.RawMessage{}
	}
	v.values[name] = raw
	return nil
}

// encode returns the variables as a JSON object, or nothing.
func (v *variableFlags) encode() (json.RawMessage, error) {
	if len(v.values) == 0 {
		return nil, nil
	}
	return json.Marshal(v.values)
}

// tenantFlags are the turn's tenant variables from --tenant-variable.
type tenantFlags struct{ values tools.TenantValues }

// String returns the variables' names only: their values are secret.
func (v *tenantFlags) String() string { return strings.Join(slices.Sorted(maps.Keys(v.values)), ",") }

// Type names the value in the help.
func (v *tenantFlags) Type() string { return "variable" }

// Set adds NAME=VALUE. The value never appears in the error.
func (v *tenantFlags) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	if !ok {
		return errors.New("it must be NAME=VALUE")
	}
	if !spec.IsVariableName(name) {
		return fmt.Errorf("%q is not a valid variable name", name)
	}
	if _, twice := v.values[name]; twice {
		return fmt.Errorf("%s is set twice", name)
	}
	if v.values == nil {
		v.values = tools.TenantValues{}
	}
	v.values[name] = value
	return nil
}
