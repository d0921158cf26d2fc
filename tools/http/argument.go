package http

import (
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/tools"
)

// decodeArguments reads the arguments of a call.
func decodeArguments(raw json.RawMessage) (tools.Arguments, error) {
	args, err := tools.DecodeArguments(raw)
	if err != nil {
		return nil, inputErrorf("%v", err)
	}
	return args, nil
}

// withoutNames returns the arguments whose names are not in a set.
func withoutNames(args tools.Arguments, names map[string]bool) tools.Arguments {
	rest := make(tools.Arguments, len(args))
	for name, raw := range args {
		if !names[name] {
			rest[name] = raw
		}
	}
	return rest
}

// inputError is an error in the arguments that the model can correct.
type inputError struct{ text string }

// Error describes the error in the arguments.
func (e *inputError) Error() string { return "tool_input_invalid: " + e.text }

func inputErrorf(format string, args ...any) error {
	return &inputError{fmt.Sprintf(format, args...)}
}
