package backend

import (
	"fmt"
	"strings"
)

// Level is how much a backend can do in one dimension. In most dimensions a
// higher level includes the lower ones.
type Level string

// The levels of all dimensions.
const (
	LevelNone Level = "none"

	CancelCooperative Level = "cooperative"
	CancelRemoteAbort Level = "remote_abort"
	CancelBoth        Level = "cooperative_and_remote_abort"

	ContinueInProcess Level = "in_process_state"
	ContinueRemote    Level = "remote_state"

	DecisionsLive    Level = "live_only"
	DecisionsDurable Level = "durable_resume"
	DecisionsBoth    Level = "live_and_durable"

	OverrideParams Level = "inference_params"
	OverrideModel  Level = "model_and_params"

	FrontendDescriptors Level = "descriptors_only"
	FrontendExecutable  Level = "executable"

	PersistEphemeral    Level = "ephemeral"
	PersistCheckpoint   Level = "checkpoint"
	PersistCrossSession Level = "cross_session"

	WaitInput Level = "input"
	WaitAuth  Level = "auth"
	WaitBoth  Level = "input_and_auth"

	TranscriptPrompt      Level = "single_prompt"
	TranscriptIncremental Level = "incremental_user_messages"
	TranscriptFull        Level = "full_transcript"

	OutputText      Level = "text"
	OutputArtifacts Level = "text_and_artifacts"
)

// Profile says what a backend can do, in nine dimensions.
type Profile struct {
	Cancellation  Level `json:"cancellation"`
	Continuation  Level `json:"continuation"`
	Decisions     Level `json:"decisions"`
	Overrides     Level `json:"overrides"`
	FrontendTools Level `json:"frontend_tools"`
	Persistence   Level `json:"persistence"`
	Waits         Level `json:"waits"`
	Transcript    Level `json:"transcript"`
	Output        Level `json:"output"`
}

// LocalProfile is what the local loop can do.
func LocalProfile() Profile {
	return Profile{
		Cancellation:  CancelCooperative,
		Continuation:  ContinueInProcess,
		Decisions:     DecisionsBoth,
		Overrides:     OverrideModel,
		FrontendTools: FrontendExecutable,
		Persistence:   PersistCheckpoint,
		Waits:         WaitBoth,
		Transcript:    TranscriptFull,
		Output:        OutputArtifacts,
	}
}

// WeakestProfile is what every remote backend can do at least.
func WeakestProfile() Profile {
	return Profile{
		Cancellation:  LevelNone,
		Continuation:  LevelNone,
		Decisions:     LevelNone,
		Overrides:     LevelNone,
		FrontendTools: LevelNone,
		Persistence:   PersistEphemeral,
		Waits:         LevelNone,
		Transcript:    TranscriptPrompt,
		Output:        OutputText,
	}
}

// Requirements says what a turn needs of its backend. A dimension that is
// empty is not required.
type Requirements Profile

// Mismatch is one dimension in which a backend cannot do what a turn needs.
type Mismatch struct {
	Dimension string
	Required  Level
	Actual    Level
}

// MismatchError says that a backend cannot run a turn. Nothing was started.
type MismatchError struct {
	Agent      string
	Mismatches []Mismatch
}

// Error names the agent and every dimension.
func (e *MismatchError) Error() string {
	texts := make([]string, len(e.Mismatches))
	for i, m := range e.Mismatches {
		texts[i] = fmt.Sprintf("%s (needs %s, has %s)", m.Dimension, m.Required, m.Actual)
	}
	return fmt.Sprintf("the backend of agent %s does not support: %s", e.Agent, strings.Join(texts, ", "))
}

// Check returns all dimensions in which the profile does not satisfy the
// requirements, in the order of the Profile's fields.
func (p *Profile) Check(need *Requirements) []Mismatch {
	var out []Mismatch
	for _, d := range []struct {
		name           string
		required, have Level
	}{
		{"cancellation", need.Cancellation, p.Cancellation},
		{"continuation", need.Continuation, p.Continuation},
		{"decisions", need.Decisions, p.Decisions},
		{"overrides", need.Overrides, p.Overrides},
		{"frontend_tools", need.FrontendTools, p.FrontendTools},
		{"persistence", need.Persistence, p.Persistence},
		{"waits", need.Waits, p.Waits},
		{"transcript", need.Transcript, p.Transcript},
		{"output", need.Output, p.Output},
	} {
		if !satisfies(d.have, d.required) {
			out = append(out, Mismatch{Dimension: d.name, Required: d.required, Actual: d.have})
		}
	}
	return out
}

// includes names, for each level, the other levels of its dimension that it
// includes. Every level includes itself and LevelNone.
var includes = map[Level][]Level{
	CancelBoth:            {CancelCooperative, CancelRemoteAbort},
	ContinueRemote:        {ContinueInProcess},
	DecisionsBoth:         {DecisionsLive, DecisionsDurable},
	OverrideModel:         {OverrideParams},
	FrontendExecutable:    {FrontendDescriptors},
	PersistCheckpoint:     {PersistEphemeral},
	PersistCrossSession:   {PersistEphemeral, PersistCheckpoint},
	WaitBoth:              {WaitInput, WaitAuth},
	TranscriptFull:        {TranscriptPrompt, TranscriptIncremental},
	TranscriptIncremental: {TranscriptPrompt, TranscriptFull},
	OutputArtifacts:       {OutputText},
}

func satisfies(have, required Level) bool {
	if required == "" || required == LevelNone || have == required {
		return true
	}
	for _, level := range includes[have] {
		if level == required {
			return true
		}
	}
	return false
}
