package workflow

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/schema"
)

// maxSteps is the maximum number of steps of a workflow.
const maxSteps = 100

// stepsCheck checks steps in their order.
type stepsCheck struct {
	all []Step
	// earlier are the preceding steps, by id.
	earlier map[string]*Step
}

func newStepsCheck(steps []Step) *stepsCheck {
	return &stepsCheck{all: steps, earlier: make(map[string]*Step, len(steps))}
}

// validateSteps checks the steps of a workflow.
func validateSteps(steps []Step) diag.List {
	var list diag.List
	if len(steps) > maxSteps {
		list = append(list, diag.New(diag.InvalidValue, "steps", "there are %d steps; %d are allowed", len(steps), maxSteps))
	}
	v := newStepsCheck(steps)
	for i := range steps {
		list = append(list, check.Within(diag.Index("steps", i), v.checkStep(&steps[i]))...)
	}
	return list
}

// checkStep checks the next step. Paths are relative to the step.
func (v *stepsCheck) checkStep(s *Step) diag.List {
	var list diag.List
	if _, taken := v.earlier[s.ID]; taken {
		list = append(list, diag.New(diag.DuplicateID, "id", "step %q is defined twice", clip.Text(s.ID)))
	}
	switch {
	case s.ID == "":
		list = append(list, diag.New(diag.MissingField, "id", "the step has no id"))
	case s.Tool == nil && s.Agent == nil:
		list = append(list, diag.New(diag.MissingField, "", "step %q does nothing", clip.Text(s.ID)).WithHint("write tool: {name: …} or agent: {agent: …, prompt: …}"))
	case s.Tool != nil && s.Agent != nil:
		list = append(list, diag.New(diag.InvalidValue, "agent", "step %q calls a tool and an agent; it can do one of them", clip.Text(s.ID)).AtKey().WithHint("write a step for each"))
	}
	list = append(list, v.checkFields("inputs", s.Inputs, nil)...)
	if s.Tool != nil {
		list = append(list, check.Within("tool", check.Required("name", s.Tool.Name))...)
		list = append(list, v.checkFields("tool.input", s.Tool.Input, s)...)
	}
	if s.Agent != nil {
		list = append(list, check.Within("agent", v.checkAgent(s))...)
	}
	if s.When != nil {
		list = append(list, check.Within("when", v.checkCondition(s))...)
	}
	list = append(list, check.PositiveSpan("timeout", s.Timeout)...)
	list = append(list, s.Retry.validate()...)
	if s.ID != "" && v.earlier[s.ID] == nil {
		v.earlier[s.ID] = s
	}
	return list
}

func (r *Retry) validate() diag.List {
	if r == nil {
		return nil
	}
	list := check.Positive("max_attempts", &r.MaxAttempts)
	list = append(list, check.PositiveSpan("backoff", r.Backoff)...)
	return check.Within("retry", append(list, check.PositiveSpan("max_backoff", r.MaxBackoff)...))
}

// checkAgent checks the agent turn of a step.
func (v *stepsCheck) checkAgent(s *Step) diag.List {
	a := s.Agent
	list := check.Required("agent", a.Agent)
	if len(a.Prompt) == 0 && len(a.Messages) == 0 {
		list = append(list, diag.New(diag.MissingField, "prompt", "the turn of agent %q is given nothing", clip.Text(a.Agent)).WithHint("write prompt, or messages"))
	}
	if len(a.Prompt) > 0 {
		list = append(list, v.checkText("prompt", a.Prompt, s)...)
	}
	for i := range a.Messages {
		list = append(list, v.checkText(diag.Join(diag.Index("messages", i), "text"), a.Messages[i].Text, s)...)
	}
	if len(a.SessionKey) > 0 {
		list = append(list, v.checkText("session_key", a.SessionKey, s)...)
	}
	if o := a.Output; o != nil && o.Text != nil && o.Structured != nil {
		list = append(list, diag.New(diag.InvalidValue, "output", "the answer is text or structured, not both"))
	}
	if raw := s.Schema(); raw != nil {
		if _, err := schema.Compile(raw); err != nil {
			list = append(list, diag.New(diag.InvalidSchema, "output.structured.schema", "the schema of the answer is not a valid JSON Schema: %v", err))
		}
	}
	return list
}

// checkText checks a value at a path that must be text.
func (v *stepsCheck) checkText(path string, raw json.RawMessage, s *Step) diag.List {
	value, found := ParseValue(raw)
	if len(found) > 0 {
		return check.Within(path, found)
	}
	_, isText := value.Constant.(string)
	if value.Template == nil && value.Ref == nil && !isText {
		return diag.List{diag.New(diag.InvalidValue, path, "%s must be a text, or {template: text}", lastName(path))}
	}
	return v.checkRefs(path, value, s)
}

func lastName(path string) string {
	segments, ok := diag.ParsePath(path)
	if !ok || len(segments) == 0 {
		return path
	}
	return segments[len(segments)-1].Key
}

// checkFields checks named values at a path. Values of a step may refer to its inputs.
func (v *stepsCheck) checkFields(path string, fields map[string]json.RawMessage, s *Step) diag.List {
	var list diag.List
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		at := diag.Key(path, name)
		value, found := ParseValue(fields[name])
		if len(found) == 0 {
			list = append(list, v.checkRefs(at, value, s)...)
		}
		list = append(list, check.Within(at, found)...)
	}
	return list
}

// checkCondition checks the condition of a step.
func (v *stepsCheck) checkCondition(s *Step) diag.List {
	value, list := ParseValue(s.When.Value)
	list = check.Within("value", list)
	if len(s.When.Value) == 0 {
		list = diag.List{diag.New(diag.MissingField, "value", "value is required")}
	} else if len(list) == 0 {
		list = append(list, v.checkRefs("value", value, s)...)
	}
	want, err := DecodeJSON(s.When.Equals)
	switch want.(type) {
	case map[string]any, []any:
		list = append(list, diag.New(diag.InvalidValue, "equals", "equals must be a text, a number, true, false or null"))
	}
	if err != nil {
		list = append(list, diag.New(diag.InvalidValue, "equals", "equals is not JSON: %v", err))
	}
	return list
}

// checkRefs checks the references of a value at a path.
func (v *stepsCheck) checkRefs(path string, value *Value, s *Step) diag.List {
	var list diag.List
	value.EachRef(func(below string, ref *Ref) {
		at := diag.Join(path, below)
		switch ref.Root {
		case rootSteps:
			list = append(list, v.checkStepRef(at, ref)...)
		case rootInputs:
			list = append(list, v.checkInputRef(at, ref, s)...)
		}
	})
	return list
}

// checkInputRef checks a reference to an input of the step.
func (v *stepsCheck) checkInputRef(path string, ref *Ref, s *Step) diag.List {
	if s == nil {
		return diag.List{diag.New(diag.InvalidTemplate, path, "${{ %s }} refers to an input of the step, which inputs themselves cannot", ref)}
	}
	name := ref.Path[0].Name
	if _, ok := s.Inputs[name]; ok {
		return nil
	}
	return diag.List{diag.New(diag.InvalidTemplate, path, "${{ %s }} refers to the input %q, which the step does not have", ref, clip.Text(name)).
		WithNearest(name, slices.Sorted(maps.Keys(s.Inputs)))}
}

// checkStepRef checks a reference to the outputs of a step.
func (v *stepsCheck) checkStepRef(path string, ref *Ref) diag.List {
	step, ok := v.earlier[ref.Step]
	if ok {
		return checkOutputPath(path, ref, step)
	}
	ids := slices.Sorted(maps.Keys(v.earlier))
	if slices.ContainsFunc(v.all, func(s Step) bool { return s.ID == ref.Step }) {
		return diag.List{diag.New(diag.UnknownStep, path, "${{ %s }} refers to step %q, which has not run by then", ref, clip.Text(ref.Step)).
			WithHint("a step can refer to those before it")}
	}
	return diag.List{diag.New(diag.UnknownStep, path, "${{ %s }} refers to step %q, which does not exist", ref, clip.Text(ref.Step)).WithNearest(ref.Step, ids)}
}

// checkOutputPath checks that an output can exist, if the form of the answer is known.
func checkOutputPath(path string, ref *Ref, step *Step) diag.List {
	if step.Tool != nil || len(ref.Path) == 0 {
		return nil
	}
	raw := step.Schema()
	if raw == nil {
		raw = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"additionalProperties":false}`)
	}
	missing, known := findMissing(raw, ref.Path)
	if missing < 0 {
		return nil
	}
	d := diag.New(diag.InvalidTemplate, path, "${{ %s }} leads to nothing: the answer of step %q has no %s", ref, ref.Step, ref.Path[:missing+1])
	if name := ref.Path[missing].Name; name != "" && len(known) > 0 {
		d = d.WithHint("it has %s", joinNames(known)).WithNearest(name, known)
	}
	return diag.List{d}
}
