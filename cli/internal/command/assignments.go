package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/agentruntime/agentruntime/spec"
)

// The forms of assignments.
const (
	TextForm  = "NAME=VALUE"
	JSONForm  = "NAME=TEXT or NAME:=JSON"
	LabelForm = "name=value"
)

// Assignments is a repeatable flag for values by name. Errors never contain a value, which may be
// secret.
type Assignments[V string | json.RawMessage] struct {
	To   *map[string]V
	Form string
	// Variable requires the names of variables, and each only once.
	Variable bool
}

// String returns an empty text, because the flag has no default.
func (*Assignments[V]) String() string { return "" }

// Type names the value in the help.
func (a *Assignments[V]) Type() string {
	if a.Variable {
		return "variable"
	}
	return "name=value"
}

// Set adds a value.
func (a *Assignments[V]) Set(text string) error {
	name, value, ok := strings.Cut(text, "=")
	isJSON := false
	if a.Form == JSONForm {
		name, isJSON = strings.CutSuffix(name, ":")
	}
	_, twice := (*a.To)[name]
	switch {
	case a.Variable && !ok:
		return errors.New("it must be " + a.Form)
	case a.Variable && !spec.IsVariableName(name):
		return fmt.Errorf("%q is not a valid variable name", name)
	case a.Variable && twice:
		return fmt.Errorf("%s is set twice", name)
	case !ok || name == "":
		return errors.New("write " + a.Form)
	case isJSON && !json.Valid([]byte(value)) && a.Variable:
		return fmt.Errorf("%s is not JSON", name)
	case isJSON && !json.Valid([]byte(value)):
		return fmt.Errorf("the value of %s is not JSON", name)
	}
	if a.Form == JSONForm && !isJSON {
		quoted, err := json.Marshal(value)
		if err != nil {
			return err
		}
		value = string(quoted)
	}
	if *a.To == nil {
		*a.To = map[string]V{}
	}
	(*a.To)[name] = V(value)
	return nil
}
