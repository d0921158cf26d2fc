package backend

import (
	"fmt"
	"slices"
	"strings"
)

// Level is the extent of a backend's support in one dimension. A higher level
// includes the lower ones.
type Level string

// The levels of all dimensions.
const (
	LevelNone Level = "none"

	// ContinueInProcess continues from a State that the backend wrote. ContinueRemote also
	// continues from a State that names a turn at a peer.
	ContinueInProcess Level = "in_process_state"
	ContinueRemote    Level = "remote_state"

	// DecisionsDurable accepts answers to a suspended turn's interactions together with its
	// State.
	DecisionsDurable Level = "durable_resume"

	// OverrideParams accepts parameters of model calls for one turn, and
	// OverrideLimits also limits and the form of the answer.
	OverrideParams Level = "inference_params"
	OverrideLimits Level = "params_and_limits"

	// BudgetsEnforced enforces the Meter of the job.
	BudgetsEnforced Level = "enforced"

	// PersistEphemeral keeps nothing of an interrupted turn, and PersistCheckpoint
	// passes its State to Job.Checkpoint after each step.
	PersistEphemeral  Level = "ephemeral"
	PersistCheckpoint Level = "checkpoint"

	// TranscriptPrompt gets only the input. TranscriptFull knows the whole conversation: it gets
	// all of it, or remembers the session and gets the new part.
	TranscriptPrompt Level = "single_prompt"
	TranscriptFull   Level = "full_transcript"
)

// Profile describes the capabilities of a backend. Each dimension is something that a turn may
// need; an empty one counts as the lowest level.
type Profile struct {
	Continuation Level `json:"continuation"`
	Decisions    Level `json:"decisions"`
	Overrides    Level `json:"overrides"`
	Budgets      Level `json:"budgets"`
	Persistence  Level `json:"persistence"`
	Transcript   Level `json:"transcript"`
}

// LocalProfile is the profile of the local loop.
func LocalProfile() Profile {
	return Profile{
		Continuation: ContinueInProcess,
		Decisions:    DecisionsDurable,
		Overrides:    OverrideLimits,
		Budgets:      BudgetsEnforced,
		Persistence:  PersistCheckpoint,
		Transcript:   TranscriptFull,
	}
}

// WeakestProfile is the minimum that every backend supports.
func WeakestProfile() Profile {
	return Profile{
		Continuation: LevelNone,
		Decisions:    LevelNone,
		Overrides:    LevelNone,
		Budgets:      LevelNone,
		Persistence:  PersistEphemeral,
		Transcript:   TranscriptPrompt,
	}
}

// Requirements describes the capabilities that a turn needs. An empty dimension is not required.
type Requirements Profile

// Mismatch is a dimension in which a backend does not meet a turn's requirements.
type Mismatch struct {
	Dimension string
	Required  Level
	Actual    Level
}

// MismatchError reports that a backend cannot run a turn. Nothing was started.
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
		{"continuation", need.Continuation, p.Continuation},
		{"decisions", need.Decisions, p.Decisions},
		{"overrides", need.Overrides, p.Overrides},
		{"budgets", need.Budgets, p.Budgets},
		{"persistence", need.Persistence, p.Persistence},
		{"transcript", need.Transcript, p.Transcript},
	} {
		if !meetsLevel(d.have, d.required) {
			out = append(out, Mismatch{Dimension: d.name, Required: d.required, Actual: d.have})
		}
	}
	return out
}

// includes lists, for each level, the other levels of its dimension that it
// includes. Every level includes itself and the lowest of its dimension.
var includes = map[Level][]Level{
	ContinueRemote: {ContinueInProcess},
	OverrideLimits: {OverrideParams},
}

func meetsLevel(have, required Level) bool {
	switch required {
	case "", LevelNone, PersistEphemeral, TranscriptPrompt, have:
		return true
	default:
		return slices.Contains(includes[have], required)
	}
}
