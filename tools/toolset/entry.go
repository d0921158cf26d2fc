// Package toolset holds the tools of an agent: entries that are checked and compiled once per
// revision, the catalog filter that selects which of them the agent sees, and the resulting set.
package toolset

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// SourceKind is the kind of a Source.
type SourceKind string

// The sources of tools, in the order in which they are merged.
const (
	// SourceGlobal is a tool of the registry.
	SourceGlobal SourceKind = "global"
	// SourceTurn is a tool that a turn brings along.
	SourceTurn SourceKind = "turn"
	// SourceDelegate is an agent that may be called.
	SourceDelegate SourceKind = "delegate"
	// SourceHandoff is an agent that the conversation may be handed to.
	SourceHandoff SourceKind = "handoff"
	// SourcePlugin is a tool that a plugin registered.
	SourcePlugin SourceKind = "plugin"
	// SourceBackend is a question of the turn's backend, as a tool call. It is not a tool of the
	// agent, and no gate applies to it.
	SourceBackend SourceKind = "backend"
)

// Source is the origin of an agent's tool.
type Source struct {
	Kind SourceKind `json:"kind"`
	// Name is the id of the agent or plugin, or of the bundle of a global tool; it may be empty.
	Name string `json:"name,omitempty"`
}

// String describes the source for people: "global tool", "global tool of x", "delegate y", "plugin
// z".
func (s Source) String() string {
	switch {
	case s.Kind == SourceGlobal && s.Name != "":
		return "global tool of " + s.Name
	case s.Kind == SourceGlobal:
		return "global tool"
	case s.Kind == SourceTurn:
		return "tool of the turn"
	}
	return string(s.Kind) + " " + s.Name
}

// Entry is a tool with its id and the data computed from it once per revision.
type Entry struct {
	ID         string
	Source     Source
	Tool       tools.Tool
	Descriptor tools.Descriptor

	schema      *schema.Schema
	declaration model.Tool
}

var noParameters = json.RawMessage(`{"type":"object","properties":{}}`)

// Compile checks a tool and compiles what its calls need. The diagnostics have paths below the
// tool; the entry is nil if there are errors.
func Compile(id string, tool tools.Tool, source Source) (entry *Entry, list diag.List) {
	defer panics.Handle(func(p *panics.Error) {
		entry = nil
		list = append(list, diag.New(diag.InvalidSchema, "", "tool %q panics when it describes itself: %v", id, p.Value))
	})
	list = spec.CheckToolID("", id)
	if tool == nil {
		return nil, append(list, diag.New(diag.InvalidValue, "", "tool %q is nil", id))
	}
	if checker, ok := tool.(tools.Checker); ok {
		if err := checker.Check(); err != nil {
			return nil, append(list, diag.New(diag.InvalidSchema, "parameters", "tool %q: %v", id, err))
		}
	}
	d := tool.Descriptor()
	if len(d.Parameters) == 0 {
		d.Parameters = noParameters
	}
	compiled, err := compileParameters(&d)
	if err != nil {
		return nil, append(list, diag.New(diag.InvalidSchema, parametersPath(err), "the parameters of tool %q are not a valid JSON Schema: %v", id, err))
	}
	if list.HasErrors() {
		return nil, list
	}
	return &Entry{
		ID: id, Source: source, Tool: tool, Descriptor: d, schema: compiled,
		declaration: model.Tool{Name: id, Description: d.Description, Parameters: d.Parameters, Output: d.Output},
	}, list
}

// parametersPath returns the path of the error in a tool's parameters.
func parametersPath(err error) string {
	path := "parameters"
	violation, ok := errors.AsType[schema.Violation](err)
	if !ok {
		return path
	}
	for _, segment := range violation.Path {
		if i, err := strconv.Atoi(segment); err == nil && i >= 0 {
			path = diag.Index(path, i)
		} else {
			path = diag.Key(path, segment)
		}
	}
	return path
}

func compileParameters(d *tools.Descriptor) (*schema.Schema, error) {
	compiled, err := schema.Compile(d.Parameters)
	if err != nil {
		return nil, err
	}
	var top struct {
		Type json.RawMessage `json:"type"`
	}
	if err := json.Unmarshal(d.Parameters, &top); err != nil {
		return nil, errors.New("it must be an object")
	}
	if top.Type != nil && string(top.Type) != `"object"` {
		return nil, fmt.Errorf("its type is %s, but the arguments of a tool are an object", top.Type)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, d.Parameters); err != nil {
		return nil, err
	}
	d.Parameters = compact.Bytes()
	return compiled, nil
}

// withTool returns the entry for another instance of the same tool, because a plugin registers one
// at every resolve.
func (e *Entry) withTool(tool tools.Tool) *Entry {
	c := *e
	c.Tool = tool
	return &c
}

// Execute validates the arguments and calls the tool. Every failure becomes a result for the model:
// invalid arguments, an error, a panic, an exceeded deadline. The result is readable. The tool also
// finds the call in its context.
func (e *Entry) Execute(ctx context.Context, call *tools.Call) (result tools.Result) {
	defer panics.Handle(func(p *panics.Error) {
		result = tools.ErrorResult(fmt.Sprintf("tool %s panicked: %v", e.ID, p.Value)).Readable()
	})
	if problem := e.CheckArguments(ctx, call.Arguments); problem != "" {
		return tools.ErrorResult("tool_input_invalid: " + problem).Readable()
	}
	if call.Session == nil {
		call.Session = tools.NoSession
	}
	result, err := e.callTool(tools.WithCall(ctx, call), call)
	if err != nil {
		result = tools.ErrorResult(e.explainError(ctx, err))
	}
	return result.Readable()
}

// CheckArguments returns how arguments violate the tool's schema, or "". It rejects objects with
// keys that are equal or differ only in case, because a schema or gate might check a different key
// than the tool reads.
func (e *Entry) CheckArguments(ctx context.Context, arguments json.RawMessage) string {
	if !utf8.Valid(arguments) {
		return "the arguments are not a JSON object: invalid UTF-8"
	}
	found, err := e.schema.ValidateJSON(ctx, arguments)
	if err != nil {
		if _, ok := errors.AsType[*schema.LimitError](err); ok {
			return err.Error()
		}
		return fmt.Sprintf("the arguments are not a JSON object: %v", err)
	}
	if len(found) == 0 {
		if !bytes.HasPrefix(bytes.TrimSpace(arguments), []byte("{")) {
			return "the arguments are not a JSON object"
		}
		if err := rawjson.AmbiguousKeys(arguments); err != nil {
			return fmt.Sprintf("the arguments are ambiguous: %v", err)
		}
		return ""
	}
	texts := make([]string, len(found))
	for i, v := range found {
		texts[i] = v.Error()
	}
	return strings.Join(texts, "; ")
}

func (e *Entry) explainError(ctx context.Context, err error) string {
	ended := ctx.Err()
	if ended != nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled)) {
		return e.EndedText(ended)
	}
	return err.Error()
}

// EndedText returns the model's text for a call whose context ended with err.
func (e *Entry) EndedText(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("tool %s did not finish within %s", e.ID, e.Descriptor.Limit())
	}
	return fmt.Sprintf("tool %s was canceled", e.ID)
}
