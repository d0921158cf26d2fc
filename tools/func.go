package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/model"
	"github.com/google/jsonschema-go/jsonschema"
)

// Func is a tool made from a Go function. The schema of its arguments comes from the type In, which
// must be a struct or a map: fields are named by their json tags, described by jsonschema tags, and
// required unless tagged omitempty or omitzero. A string Out is passed to the model as it is, any
// other Out as JSON.
//
// The zero values of the other fields are good defaults. A Func must not be copied after it was
// registered.
type Func[In, Out any] struct {
	// Description describes the tool's purpose for the model.
	Description string
	// Run is the function. It must be safe for concurrent use.
	Run func(ctx context.Context, in In) (Out, error)
	// Effect is the class of the function's effect; empty means Once.
	Effect Effect
	// Timeout is how long a call may take; 0 means DefaultTimeout.
	Timeout time.Duration
	// Serial prevents calls from running concurrently with others of the same answer.
	Serial bool

	once       sync.Once
	parameters json.RawMessage
	err        error
}

var (
	_ Tool    = (*Func[struct{}, struct{}])(nil)
	_ Checker = (*Func[struct{}, struct{}])(nil)
)

// Check reports a missing function, and an In that no schema can describe.
func (f *Func[In, Out]) Check() error {
	if f.Run == nil {
		return fmt.Errorf("its function is nil: set Run")
	}
	f.inferSchema()
	return f.err
}

// Descriptor describes the function.
func (f *Func[In, Out]) Descriptor() Descriptor {
	f.inferSchema()
	return Descriptor{
		Description: f.Description,
		Parameters:  f.parameters,
		Effect:      f.Effect,
		Timeout:     f.Timeout,
		Serial:      f.Serial,
	}
}

func (f *Func[In, Out]) inferSchema() {
	f.once.Do(func() {
		s, err := jsonschema.For[In](nil)
		if err != nil {
			f.err = fmt.Errorf("its arguments have no JSON Schema: %w", err)
			return
		}
		f.parameters, f.err = json.Marshal(s)
	})
}

// Call decodes the arguments, runs the function and encodes its result.
func (f *Func[In, Out]) Call(ctx context.Context, call *Call) (Result, error) {
	var in In
	if err := json.Unmarshal(call.Arguments, &in); err != nil {
		path, problem := rawjson.DescribeError(err, reflect.TypeFor[In]())
		return ErrorResult(strings.TrimSpace("tool_input_invalid: " + strings.TrimPrefix(path+": "+problem, ": "))), nil
	}
	out, err := f.Run(ctx, in)
	if err != nil {
		return Result{}, err
	}
	if text, ok := any(out).(string); ok {
		return TextResult(text), nil
	}
	data, err := json.Marshal(out)
	if err != nil {
		return Result{}, fmt.Errorf("encode the result: %w", err)
	}
	return Result{Content: []model.Part{model.Text(string(data))}, Data: data}, nil
}
