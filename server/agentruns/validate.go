package agentruns

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/spec"
)

// finalizes is the maxToolTurnsExceeded that lets the model give a final answer.
const finalizes = "finalize"

// The limits of a spec.
const (
	defaultMaxToolTurns = 32
	maxOutputSchema     = 32768
	maxToolBudgets      = 32
	maxToolBudgetKey    = 120
	maxMetadataEntries  = 16
	maxMetadataValue    = 256
	maxMetadataBytes    = 4096
	maxEffort           = 100
)

var (
	metadataKey      = regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	outputSchemaName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)

// purpose is the use of a body. It decides which fields are required.
type purpose int

const (
	// forRun is a run, or a message together with its session.
	forRun purpose = iota
	// forSession is a session, which has no input.
	forSession
)

// readRequest checks a body against all limits and returns the request. The error is a
// *requestError.
func readRequest(f fields, why purpose) (*request, error) {
	r := new(request)
	for _, read := range []func(fields) error{
		r.readIdentity, r.readEffort, r.readTools, r.readBudgets,
		r.readOutputSchema, r.readLoopDetection, r.readToolBudgets, r.readMetadata,
	} {
		if err := read(f); err != nil {
			return nil, err
		}
	}
	if why == forRun {
		if err := r.readInput(f); err != nil {
			return nil, err
		}
	}
	if !r.hasInstructions() {
		return nil, newInvalid("systemPrompt is required unless agentId or a system message is given")
	}
	return r, nil
}

// hasInstructions reports whether a request has instructions for its agent.
func (r *request) hasInstructions() bool {
	return r.AgentID != "" || r.SystemPrompt != "" || slices.ContainsFunc(r.messages, func(m inputMessage) bool {
		return m.Role == surfacekit.RoleSystem && strings.TrimSpace(m.Content) != ""
	})
}

func (r *request) readIdentity(f fields) error {
	if err := f.decode("", &r.identityBody); err != nil {
		return err
	}
	if r.AgentID != "" && !agentIDGrammar.MatchString(r.AgentID) {
		return newInvalid("agentId %q is not a valid agent ID", clip.Text(r.AgentID))
	}
	r.Name = cmp.Or(r.Name, spec.EphemeralAgent)
	return nil
}

// agentIDGrammar matches ids of declared agents and of remote sources' agents.
var agentIDGrammar = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}(/[A-Za-z0-9][A-Za-z0-9_.:-]{0,127})?$`)

// readInput reads the run's input: a prompt or messages.
func (r *request) readInput(f fields) error {
	var in inputBody
	if err := f.decode("", &in); err != nil {
		return err
	}
	prompt := in.Prompt
	r.messages = in.Messages
	switch listed := len(r.messages) > 0; {
	case prompt != "" && listed:
		return newInvalid("prompt and messages exclude each other")
	case prompt != "":
		r.messages = []inputMessage{{Role: surfacekit.RoleUser, Content: prompt}}
		return nil
	case !listed:
		return newInvalid("either prompt or messages is required")
	}
	for i, m := range r.messages {
		if m.Role != surfacekit.RoleUser && m.Role != surfacekit.RoleAssistant && m.Role != surfacekit.RoleSystem {
			return newInvalid("messages[%d].role is %q; it must be user, assistant or system", i, clip.Text(m.Role))
		}
		if len(m.Attachments) > 0 && m.Role != surfacekit.RoleUser {
			return newInvalid("messages[%d].attachments: only messages of the user have files", i)
		}
		for j := range m.Attachments {
			part, err := m.Attachments[j].toPart(fmt.Sprintf("messages[%d].attachments[%d]", i, j))
			if err != nil {
				return err
			}
			r.messages[i].files = append(r.messages[i].files, part)
		}
	}
	if r.messages[len(r.messages)-1].Role == surfacekit.RoleAssistant {
		return newInvalid("messages must not end with a message of the assistant")
	}
	return nil
}

// efforts are the levels of reasoning as percentages.
var efforts = map[string]int{"off": 0, "low": 30, "medium": 50, "high": 80}

func (r *request) readEffort(f fields) error {
	raw, has := f[fieldReasoningLevel]
	if !has {
		return nil
	}
	var level string
	if json.Unmarshal(raw, &level) == nil {
		if effort, known := efforts[level]; known {
			r.effort = &effort
			return nil
		}
	}
	effort, whole := integerOf(raw)
	if !whole || effort < 0 || effort > maxEffort {
		return newInvalid("reasoningLevel must be off, low, medium, high, or a whole number from 0 to %d", maxEffort)
	}
	r.effort = &effort
	return nil
}

func (r *request) readTools(f fields) error {
	var list []json.RawMessage
	if err := f.readField(fieldTools, &list, "a list"); err != nil {
		return err
	}
	var err error
	r.tools, err = readToolRefs(list)
	return err
}

func (r *request) readBudgets(f fields) error {
	budgets, err := f.readObject(fieldBudgets)
	if err == nil {
		err = budgets.decode("budgets.", &r.budgetsBody)
	}
	if exceeded := r.MaxToolTurnsExceeded; err == nil && exceeded != "" && exceeded != "error" && exceeded != finalizes {
		return newInvalid("budgets.maxToolTurnsExceeded is %q; it must be error or finalize", clip.Text(exceeded))
	}
	return err
}

func (r *request) readOutputSchema(f fields) error {
	raw, has := f[fieldOutputSchema]
	if !has {
		return nil
	}
	output, err := f.readObject(fieldOutputSchema)
	if err != nil {
		return err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return newInvalid("outputSchema is not JSON")
	}
	if compact.Len() > maxOutputSchema {
		return newInvalid("outputSchema has %d bytes; %d are allowed", compact.Len(), maxOutputSchema)
	}
	r.output = new(outputBody)
	if err := output.decode("", r.output); err != nil {
		return err
	}
	if _, named := output["name"]; named && !outputSchemaName.MatchString(r.output.Name) {
		return newInvalid("outputSchema.name must be 1 to 64 letters, digits, '_' or '-'")
	}
	if schema, err := output.readObject("schema"); err != nil || schema == nil {
		return newInvalid("outputSchema.schema must be an object")
	}
	return nil
}

// readLoopDetection reads the thresholds. A missing one gets its default before they are
// compared.
func (r *request) readLoopDetection(f fields) error {
	raw, has := f[fieldLoopDetection]
	if !has {
		return nil
	}
	var on bool
	if json.Unmarshal(raw, &on) == nil {
		if on {
			return newInvalid("loopDetection must be false or an object; leave it out for the defaults")
		}
		r.loop = &spec.LoopDetection{Enabled: new(bool)}
		return nil
	}
	object, err := f.readObject(fieldLoopDetection)
	if err != nil {
		return newInvalid("loopDetection must be false or an object")
	}
	var given loopBody
	if err := object.decode("loopDetection.", &given); err != nil {
		return err
	}
	consecutive := cmp.Or(given.ConsecutiveThreshold, spec.DefaultConsecutiveThreshold)
	hard := cmp.Or(given.HardCutoffThreshold, spec.DefaultHardCutoffThreshold)
	if hard <= consecutive {
		return newInvalid("loopDetection.hardCutoffThreshold (%d) must be more than consecutiveThreshold (%d); they are %d and %d when not given",
			hard, consecutive, spec.DefaultHardCutoffThreshold, spec.DefaultConsecutiveThreshold)
	}
	r.loop = &spec.LoopDetection{ConsecutiveThreshold: &consecutive, HardCutoffThreshold: &hard}
	return nil
}

func (r *request) readToolBudgets(f fields) error {
	budgets, err := f.readObject(fieldToolBudgets)
	if err != nil || budgets == nil {
		return err
	}
	if len(budgets) > maxToolBudgets {
		return newInvalid("toolBudgets has %d entries; %d are allowed", len(budgets), maxToolBudgets)
	}
	r.toolBudgets = make(map[string]int, len(budgets))
	for _, name := range slices.Sorted(maps.Keys(budgets)) {
		if n := utf8.RuneCountInString(name); n < 1 || n > maxToolBudgetKey {
			return newInvalid("a key of toolBudgets has %d characters; 1 to %d are allowed", n, maxToolBudgetKey)
		}
		path := "toolBudgets." + clip.Text(name)
		entry, err := budgets.readObject(name)
		if err != nil {
			return newInvalid("%s must be an object", path)
		}
		if _, has := entry["maxCalls"]; !has {
			return newInvalid("%s.maxCalls is required", path)
		}
		var budget budgetBody
		if err := entry.decode(path+".", &budget); err != nil {
			return err
		}
		r.toolBudgets[name] = budget.MaxCalls
	}
	return nil
}

func (r *request) readMetadata(f fields) error {
	metadata, err := f.readObject(fieldMetadata)
	if err != nil {
		return err
	}
	if len(metadata) > maxMetadataEntries {
		return newInvalid("metadata has %d entries; %d are allowed", len(metadata), maxMetadataEntries)
	}
	r.metadata = make(map[string]string, len(metadata))
	for _, key := range slices.Sorted(maps.Keys(metadata)) {
		if !metadataKey.MatchString(key) {
			return newInvalid("the metadata key %q is not allowed: 1 to 64 letters, digits, '.', '_' or '-'", clip.Text(key))
		}
		var value string
		if err := json.Unmarshal(metadata[key], &value); err != nil {
			return newInvalid("metadata.%s must be a string", key)
		}
		if n := utf8.RuneCountInString(value); n > maxMetadataValue {
			return newInvalid("metadata.%s has %d characters; %d are allowed", key, n, maxMetadataValue)
		}
		r.metadata[key] = value
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(r.metadata); err != nil {
		return newInvalid("metadata cannot be encoded")
	}
	if size := out.Len() - 1; size > maxMetadataBytes { // without the final line feed
		return newInvalid("metadata has %d bytes as JSON; %d are allowed", size, maxMetadataBytes)
	}
	return nil
}
