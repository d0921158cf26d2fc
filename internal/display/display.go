// Package display converts the log of a turn into events for readers that do not know the runtime:
// each has a type, its data and, if worth showing, a Display. The events and the rules for a
// Display match Gestalt's sessions and turns.
package display

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// Kind is the kind of a Display.
type Kind string

// The kinds.
const (
	KindText        Kind = "text"
	KindReasoning   Kind = "reasoning"
	KindTool        Kind = "tool"
	KindInteraction Kind = "interaction"
	KindStatus      Kind = "status"
	KindError       Kind = "error"
)

// Phase is the stage of the displayed activity.
type Phase string

// The phases.
const (
	PhaseDelta     Phase = "delta"
	PhaseCompleted Phase = "completed"
	PhaseStarted   Phase = "started"
	PhaseProgress  Phase = "progress"
	PhaseFailed    Phase = "failed"
	phaseRequested Phase = "requested"
	phaseResolved  Phase = "resolved"
	PhaseCanceled  Phase = "canceled"
)

// The values of Action.
const (
	actionRunning  = "Running"
	actionRan      = "Ran"
	actionFailed   = "Failed"
	actionCanceled = "Canceled"
)

// formatMarkdown is the Format of model output.
const formatMarkdown = "markdown"

// Display describes how to show an event. It does not replace the event's data, and does not make a
// private event public.
type Display struct {
	Kind  Kind   `json:"kind,omitempty"`
	Phase Phase  `json:"phase,omitempty"`
	Text  string `json:"text,omitempty"`
	// Label names the tool, or the subject of the status.
	Label string `json:"label,omitempty"`
	// Ref is the id of the call or interaction within the turn, which links its events. ParentRef
	// is the Ref of the enclosing call.
	Ref       string `json:"ref,omitempty"`
	ParentRef string `json:"parentRef,omitempty"`
	// Input, Output and Error are JSON values.
	Input  json.RawMessage `json:"input,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
	// Action is a word for what happens to a tool.
	Action string `json:"action,omitempty"`
	// Format is the text's format, and Language the language of code.
	Format   string `json:"format,omitempty"`
	Language string `json:"language,omitempty"`
}

// The types of events that For knows.
const (
	typeTurnStarted          = "turn.started"
	TypeTurnCompleted        = "turn.completed"
	TypeTurnFailed           = "turn.failed"
	TypeTurnCanceled         = "turn.canceled"
	TypeAssistantDelta       = "assistant.delta"
	TypeAssistantCompleted   = "assistant.completed"
	typeToolStarted          = "tool.started"
	typeToolCompleted        = "tool.completed"
	typeToolFailed           = "tool.failed"
	typeInteractionRequested = "interaction.requested"
	typeInteractionResolved  = "interaction.resolved"

	typeMessageDelta = "agent.message.delta"
)

// For returns the display of an event that came without one; nil if the event is not shown. data is
// a JSON object; anything else counts as an empty one. Model texts are kept exactly, including
// surrounding white space.
func For(eventType string, data json.RawMessage) *Display {
	var fields fields
	_ = json.Unmarshal(data, &fields) // a non-object has no fields
	switch eventType {
	case typeMessageDelta, TypeAssistantDelta:
		if text := rawText(fields.first("text", "delta", "content")); text != "" {
			return &Display{Kind: KindText, Phase: PhaseDelta, Text: text, Format: formatMarkdown}
		}
		return nil
	case TypeAssistantCompleted:
		return &Display{Kind: KindText, Phase: PhaseCompleted, Text: rawText(fields.first("text")), Format: formatMarkdown}
	case typeToolStarted:
		d := fields.toolDisplay(PhaseStarted)
		d.Input = fields.first(inputNames...)
		return d
	case typeToolCompleted:
		d := fields.toolDisplay(PhaseCompleted)
		d.Text, d.Output, d.Error = fields.statusText(), fields.first(outputNames...), fields.first(errorNames...)
		return d
	case typeToolFailed:
		d := fields.toolDisplay(PhaseFailed)
		d.Error = fields.first(errorNames...)
		d.Text = text(d.Error)
		return d
	case typeInteractionRequested:
		return fields.interactionDisplay(phaseRequested)
	case typeInteractionResolved:
		return fields.interactionDisplay(phaseResolved)
	case typeTurnStarted:
		return &Display{Kind: KindStatus, Phase: PhaseStarted, Label: labelTurn, Text: fields.statusText()}
	case TypeTurnFailed:
		return &Display{Kind: KindError, Phase: PhaseFailed, Label: labelTurn, Text: text(fields.first("error", "message", "status"))}
	case TypeTurnCanceled:
		return &Display{Kind: KindStatus, Phase: PhaseCanceled, Label: labelTurn, Text: text(fields.first("reason", "message", "status"))}
	default:
		return nil
	}
}

// The labels of statuses.
const (
	labelTurn     = "turn"
	labelDelegate = "delegate"
)

// The historical names of fields of tool events, preferred ones first.
var (
	inputNames = []string{
		"display_input", "displayInput", "input_preview", "inputPreview", "arguments_preview", "argumentsPreview", "arguments", "input", "request",
	}
	outputNames = []string{
		"display_output", "displayOutput", "output_preview", "outputPreview", "result_preview", "resultPreview", "output", "result", "body",
	}
	errorNames  = []string{"display_error", "displayError", "error"}
	labelNames  = []string{"tool_name", "toolName", "name", "operation", "tool_id", "toolId"}
	callNames   = []string{"tool_call_id", "toolCallId", "call_id", "callId", "id"}
	parentNames = []string{"parent_ref", "parentRef", "parent_call_id", "parentCallId"}
)

// actions are the actions of tools in each phase.
var actions = map[Phase]string{
	PhaseStarted: actionRunning, PhaseProgress: actionRunning, PhaseCompleted: actionRan, PhaseFailed: actionFailed, PhaseCanceled: actionCanceled,
}

// Normalize normalizes a display that came with an event: it trims words and fills in only an
// action or format that follows from the rest.
func Normalize(eventType string, d *Display) {
	d.Kind, d.Phase = Kind(strings.TrimSpace(string(d.Kind))), Phase(strings.TrimSpace(string(d.Phase)))
	d.Action, d.Format, d.Language = strings.TrimSpace(d.Action), strings.TrimSpace(d.Format), strings.TrimSpace(d.Language)
	if d.Kind == KindTool && d.Action == "" {
		d.Action = actions[d.Phase]
	}
	switch eventType {
	case typeMessageDelta, TypeAssistantDelta, TypeAssistantCompleted:
		if d.Kind == KindText && d.Format == "" {
			d.Format = formatMarkdown
		}
	}
}

// phases are the phases of each kind; a status or an error may have any.
var phases = map[Kind][]Phase{
	KindText:        {PhaseDelta, PhaseCompleted},
	KindReasoning:   {PhaseDelta, PhaseCompleted},
	KindTool:        {PhaseStarted, PhaseProgress, PhaseCompleted, PhaseFailed, PhaseCanceled},
	KindInteraction: {phaseRequested, phaseResolved, PhaseCanceled},
	KindStatus:      allPhases,
	KindError:       allPhases,
}

var allPhases = []Phase{PhaseDelta, PhaseCompleted, PhaseStarted, PhaseProgress, PhaseFailed, phaseRequested, phaseResolved, PhaseCanceled}

// Known reports whether the kind and its phase are among those defined above.
func (d *Display) Known() bool { return slices.Contains(phases[d.Kind], d.Phase) }

// fields are the fields of an event's data.
type fields map[string]json.RawMessage

// first returns the value of the first name that is present and not null.
func (f fields) first(names ...string) json.RawMessage {
	for _, name := range names {
		if value, ok := f[name]; ok && string(value) != "null" {
			return value
		}
	}
	return nil
}

func (f fields) toolDisplay(phase Phase) *Display {
	d := &Display{
		Kind: KindTool, Phase: phase, Action: actions[phase],
		Label: text(f.first(labelNames...)), Ref: text(f.first(callNames...)), ParentRef: text(f.first(parentNames...)),
	}
	if d.Label == "" {
		d.Label = "tool"
	}
	return d
}

func (f fields) interactionDisplay(phase Phase) *Display {
	return &Display{Kind: KindInteraction, Phase: phase, Label: "interaction", Ref: text(f.first("interaction_id", "interactionId"))}
}

// statusText returns the status in the data.
func (f fields) statusText() string {
	for _, names := range [][]string{{"text", "message"}, {"status", "state"}} {
		if t := text(f.first(names...)); t != "" {
			return t
		}
	}
	return text(f.first("statusCode", "status_code"))
}

// text returns a value as trimmed text: a string unquoted, anything else as JSON.
func text(value json.RawMessage) string { return strings.TrimSpace(rawText(value)) }

// rawText returns a value as text: a string unquoted, anything else as JSON.
func rawText(value json.RawMessage) string {
	if len(value) == 0 {
		return ""
	}
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	return rawjson.CompactText(value)
}
