package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/spec"
)

// The forms of assignments.
const (
	textForm  = "NAME=VALUE"
	jsonForm  = "NAME=TEXT or NAME:=JSON"
	labelForm = "name=value"
)

// assignments is a repeatable flag for values by name. Errors never contain a value, which may be
// secret.
type assignments[V string | json.RawMessage] struct {
	to   *map[string]V
	form string
	// variable requires the names of variables, and each only once.
	variable bool
}

// String returns an empty text, because the flag has no default.
func (*assignments[V]) String() string { return "" }

// Type names the value in the help.
func (a *assignments[V]) Type() string {
	if a.variable {
		return "variable"
	}
	return "name=value"
}

// Set adds a value.
func (a *assignments[V]) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	isJSON := false
	if a.form == jsonForm {
		name, isJSON = strings.CutSuffix(name, ":")
	}
	_, twice := (*a.to)[name]
	switch {
	case a.variable && !ok:
		return errors.New("it must be " + a.form)
	case a.variable && !spec.IsVariableName(name):
		return fmt.Errorf("%q is not a valid variable name", name)
	case a.variable && twice:
		return fmt.Errorf("%s is set twice", name)
	case !ok || name == "":
		return errors.New("write " + a.form)
	case isJSON && !json.Valid([]byte(value)) && a.variable:
		return fmt.Errorf("%s is not JSON", name)
	case isJSON && !json.Valid([]byte(value)):
		return fmt.Errorf("the value of %s is not JSON", name)
	}
	if a.form == jsonForm && !isJSON {
		quoted, err := json.Marshal(value)
		if err != nil {
			return err
		}
		value = string(quoted)
	}
	if *a.to == nil {
		*a.to = map[string]V{}
	}
	(*a.to)[name] = V(value)
	return nil
}
