package resolve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// maxVariables bounds the variables of a turn as JSON, in bytes.
const maxVariables = 256 << 10

// maxProblems is the maximum number of unknown variables reported.
const maxProblems = 20

// maxFilledPrompt bounds the total size of the values that fill a prompt, in bytes.
const maxFilledPrompt = 4 << 20

// Variables are values that a turn supplies for the prompts of its agents. They are data: they
// never change what an agent may do, and are never logged.
type Variables struct {
	// Fill is set for a turn. Otherwise the prompt keeps its references, and nothing is
	// checked.
	Fill bool
	// Values is a JSON object of variables by name; empty has none.
	Values json.RawMessage
	// Inherited is set if another agent received the turn: a variable that this one does not
	// declare is then omitted. Otherwise it is an error.
	Inherited bool
	// Tenant has the variables of the turn's tenant; nil for none.
	Tenant tools.TenantSource
}

// tenantVariablesOf returns the variables of a tenant as declared by a revision. It returns nil for
// a revision that does not need them, without declarations and without servers that need logins.
func tenantVariablesOf(rev *registry.Revision, source tools.TenantSource) *tools.TenantVariables {
	set := rev.Set()
	if set.Tenants == nil && set.Bundles.Len() == 0 {
		return nil
	}
	return &tools.TenantVariables{Declared: set.Tenants, Source: source}
}

// VariablesError reports that a turn's variables differ from its agent's declarations, or that its
// tenant lacks some.
type VariablesError struct {
	Agent string
	// Problems describe the errors, without the values.
	Problems []string
	// Err is the error of reading a value; nil for other problems.
	Err error
}

// Unwrap returns the error of reading a value, or nil.
func (e *VariablesError) Unwrap() error { return e.Err }

// Error names the agent and the problems.
func (e *VariablesError) Error() string {
	return fmt.Sprintf("the variables of the turn do not fit agent %s: %s", e.Agent, strings.Join(e.Problems, "; "))
}

// compileVariables compiles the schema of the agent's variables.
func (r *resolver) compileVariables() {
	if len(r.agent.Variables) == 0 {
		return
	}
	compiled, err := schema.Compile(r.agent.Variables)
	if err != nil {
		r.addError(diag.New(diag.InvalidSchema, r.pathOf("variables"), "variables is not a valid JSON Schema: %v", err).ForAgent(r.agent.ID))
		return
	}
	r.declares = &variables{r.agent.DeclaredVariables(), compiled}
}

// fillAgent returns the agent with the variables of a turn and of its tenant filled in. The error
// is a *VariablesError.
func (t *template) fillAgent(ctx context.Context, rev *registry.Revision, agent *spec.Agent, brought *Variables) (*spec.Agent, error) {
	if !brought.Fill {
		return agent, nil
	}
	var values map[string]json.RawMessage
	if t.declares != nil || len(brought.Values) > 0 {
		var err error
		if values, err = t.checkVariables(ctx, brought); err != nil {
			return nil, err
		}
	}
	prompt, effort := agent.SystemPrompt, agent.ReasoningEffort
	if !prompt.HasReferences() && (effort == nil || effort.Variable == "") {
		return agent, nil
	}
	own := tenantReader{variables: tenantVariablesOf(rev, brought.Tenant)}
	filled := *agent
	room, texts := maxFilledPrompt, make(map[spec.Reference]string)
	filled.SystemPrompt = spec.Prompt(prompt.Fill(func(r spec.Reference) (text string) {
		if room <= 0 {
			return ""
		}
		text, known := texts[r]
		switch {
		case known:
		case r.Scope == spec.TenantScope:
			text = own.read(ctx, r.Name)
		default:
			text = t.declares.textOf(r.Name, values)
		}
		texts[r] = text
		if room -= len(text); room <= 0 {
			own.addProblem(fmt.Sprintf("the references of the system prompt stand for more than %d bytes", maxFilledPrompt))
		}
		return text
	}))
	if effort != nil && effort.Variable != "" {
		filled.ReasoningEffort = own.readEffort(ctx, effort.Variable)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(own.problems) > 0 {
		return nil, &VariablesError{Agent: t.agent.ID, Problems: own.problems, Err: own.err}
	}
	return &filled, nil
}

// tenantReader reads the tenant variables that an agent refers to.
type tenantReader struct {
	variables *tools.TenantVariables
	problems  []string
	// err is the error of reading a value, or nil.
	err error
}

func (r *tenantReader) addProblem(text string) {
	if !slices.Contains(r.problems, text) {
		r.problems = append(r.problems, text)
	}
}

// read returns a value for a model, or records why it cannot be used.
func (r *tenantReader) read(ctx context.Context, name string) string {
	value, err := r.variables.Read(ctx, name)
	if e, ok := errors.AsType[*tools.TenantVariableError](err); ok {
		r.addProblem(e.Error())
		r.err = errors.Join(r.err, e.Err)
		return ""
	}
	if value.Secret {
		r.addProblem(fmt.Sprintf("the tenant variable %s is a secret, which a model must not be given", clip.Text(name)))
		return ""
	}
	return value.Text
}

// readEffort returns the reasoning effort in a variable.
func (r *tenantReader) readEffort(ctx context.Context, name string) *spec.Effort {
	before := len(r.problems)
	text := r.read(ctx, name)
	if len(r.problems) > before {
		return nil
	}
	effort, ok := spec.ParseEffort(strings.TrimSpace(text))
	if !ok {
		r.addProblem(fmt.Sprintf("the tenant variable %s must be one of %s, or a number from 0 to 100", clip.Text(name), strings.Join(spec.EffortLevels(), ", ")))
	}
	return &effort
}

// checkTenantVariables checks the agent's references to tenant variables.
func (r *resolver) checkTenantVariables(set *registry.Set) {
	for _, name := range r.agent.SystemPrompt.References(spec.TenantScope) {
		r.failAll(set.Tenants.CheckReference("system_prompt", name, false))
	}
	if e := r.agent.ReasoningEffort; e != nil && e.Variable != "" {
		r.failAll(set.Tenants.CheckReference("reasoning_effort", e.Variable, false))
	}
}

// checkTenantVariables checks the references in tool settings.
func (c *check) checkTenantVariables() {
	c.failAll(c.set.Tenants.CheckDefaults())
	for id, tool := range c.set.Tools.All() {
		c.checkReferencesOf(tool, c.set.Tools.Path(id))
	}
	for id, bundle := range c.set.Bundles.All() {
		c.checkReferencesOf(bundle.Source, c.set.Bundles.Path(id))
	}
}

// checkReferencesOf checks the references in the settings of a tool or a bundle of tools.
func (c *check) checkReferencesOf(tool tools.Tool, path string) {
	referrer, ok := tool.(tools.TenantReferrer)
	if !ok {
		return
	}
	for _, r := range referrer.TenantReferences() {
		for _, d := range c.set.Tenants.CheckReference(r.Path, r.Name, !r.Plain) {
			d.Path = diag.Join(path, d.Path)
			c.addError(d)
		}
	}
}

// checkVariables returns the variables of a turn by name if they match the agent's declarations.
func (t *template) checkVariables(ctx context.Context, brought *Variables) (map[string]json.RawMessage, error) {
	e := &VariablesError{Agent: t.agent.ID}
	values := map[string]json.RawMessage{}
	if len(brought.Values) > 0 {
		switch raw := bytes.TrimSpace(brought.Values); {
		case len(raw) > maxVariables:
			e.Problems = append(e.Problems, fmt.Sprintf("they have %d bytes; at most %d are allowed", len(raw), maxVariables))
		case len(raw) == 0 || raw[0] != '{' || json.Unmarshal(raw, &values) != nil:
			e.Problems = append(e.Problems, "they must be a JSON object")
		}
		if len(e.Problems) > 0 {
			return nil, e
		}
	}
	var names []string
	var declared map[string]json.RawMessage
	if t.declares != nil {
		names, declared = t.declares.Names(), t.declares.Properties
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if _, ok := declared[name]; ok {
			continue
		}
		if !brought.Inherited && len(e.Problems) < maxProblems {
			e.Problems = append(e.Problems, unknownVariable(name, names))
		}
		delete(values, name)
	}
	if t.declares != nil {
		e.Problems = append(e.Problems, t.declares.check(ctx, values)...)
	}
	if len(e.Problems) > 0 {
		return nil, e
	}
	return values, nil
}

func unknownVariable(name string, names []string) string {
	text := fmt.Sprintf("%q is not declared", clip.Text(name))
	if near, ok := nearest.Of(name, names); ok {
		text += fmt.Sprintf(" (did you mean %q?)", near)
	}
	return text
}
