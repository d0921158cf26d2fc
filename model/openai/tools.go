package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"runtime"
	"sync"
	"weak"

	"github.com/agentruntime/agentruntime/model"
)

// declaration is what both APIs say of a function.
type declaration struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	// Strict is always written: the Responses API takes its absence for true,
	// and then refuses most schemas.
	Strict bool `json:"strict"`
}

// toolCache keeps the encoded form of the tool sets that are in use. A set is
// known by where it lies in memory; the keys are weak, so an entry goes when
// its set does.
type toolCache struct {
	declare func(declaration) any
	sets    sync.Map // of toolSet to []byte
}

type toolSet struct {
	first weak.Pointer[model.Tool]
	size  int
}

// encoded returns the tools as a JSON array, nil when there are none.
func (c *toolCache) encoded(tools []model.Tool) ([]byte, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	key := toolSet{first: weak.Make(&tools[0]), size: len(tools)}
	if known, ok := c.sets.Load(key); ok {
		return known.([]byte), nil
	}
	fresh, err := c.encode(tools)
	if err != nil {
		return nil, err
	}
	if _, loaded := c.sets.LoadOrStore(key, fresh); !loaded {
		runtime.AddCleanup(&tools[0], func(key toolSet) { c.sets.Delete(key) }, key)
	}
	return fresh, nil
}

func (c *toolCache) encode(tools []model.Tool) ([]byte, error) {
	list := make([]any, len(tools))
	for i := range tools {
		t := &tools[i]
		parameters, err := objectSchema(t.Parameters)
		if err != nil {
			return nil, &model.Error{
				Class:   model.InvalidRequest,
				Message: fmt.Sprintf("the parameters of tool %s are no JSON object", t.Name),
				Err:     err,
			}
		}
		list[i] = c.declare(declaration{Name: t.Name, Description: t.Description, Parameters: parameters})
	}
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false) // the model reads descriptions as they were written
	if err := enc.Encode(list); err != nil {
		return nil, &model.Error{Class: model.InvalidRequest, Message: "the tools cannot be encoded", Err: err}
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// objectSchema returns schema in the form the vendor accepts: an object schema
// must name its properties, even when there are none.
func objectSchema(schema json.RawMessage) (json.RawMessage, error) {
	if len(schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`), nil
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(schema, &fields); err != nil {
		return nil, err
	}
	_, typed := fields["type"]
	_, named := fields["properties"]
	if typed && named {
		return schema, nil
	}
	if fields == nil { // the JSON null
		fields = make(map[string]json.RawMessage, 2)
	}
	if !typed {
		fields["type"] = json.RawMessage(`"object"`)
	}
	if !named {
		fields["properties"] = json.RawMessage(`{}`)
	}
	return json.Marshal(fields)
}
