package spec

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/agentruntime/agentruntime/diag"
)

// Sections are the plugin settings of an agent, as JSON, by section key.
type Sections = map[string]json.RawMessage

// Prompt is a text. In a configuration file it may be written as {file: path},
// which is read when the file is loaded.
type Prompt string

// Names is a list of ids or patterns that tells an absent list (nil) from an
// empty one: JSON null and [] both decode to an empty, non-nil list.
type Names []string

// UnmarshalJSON decodes a list of strings; null becomes an empty list.
func (n *Names) UnmarshalJSON(data []byte) error {
	list := []string{}
	if err := json.Unmarshal(data, &list); err != nil {
		return fmt.Errorf("decode list of names: %w", err)
	}
	if list == nil {
		list = []string{}
	}
	*n = list
	return nil
}

// Duration is a time span, written as a Go duration: 10s, 1m30s.
type Duration time.Duration

// Std returns d as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String returns the Go spelling of d.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText returns the Go spelling of d.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText parses the Go spelling of a duration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is no duration such as 10s or 1m30s", text)
	}
	*d = Duration(v)
	return nil
}

// Effort says how much a model may think before it answers: a level, or a
// budget of tokens.
type Effort struct {
	// Level is none, low, medium, high or max; empty when Budget is set.
	Level string
	// Budget is the number of tokens the model may think for; 0 when Level is
	// set.
	Budget int
}

// EffortLevels are the levels of reasoning effort, lowest first.
func EffortLevels() []string { return []string{"none", "low", "medium", "high", "max"} }

type effortBudget struct {
	Budget int `json:"budget"`
}

// MarshalJSON writes the level as a string, or {"budget": n}.
func (e Effort) MarshalJSON() ([]byte, error) {
	if e.Level != "" {
		return json.Marshal(e.Level)
	}
	return json.Marshal(effortBudget{e.Budget})
}

// UnmarshalJSON reads a level, or {"budget": n}.
func (e *Effort) UnmarshalJSON(data []byte) error {
	var level string
	if err := json.Unmarshal(data, &level); err == nil {
		*e = Effort{Level: level}
		return nil
	}
	var budget effortBudget
	if err := json.Unmarshal(data, &budget); err != nil {
		return fmt.Errorf("reasoning effort is neither a level nor {budget: n}: %w", err)
	}
	*e = Effort{Budget: budget.Budget}
	return nil
}

// String returns the level, or the budget as in "budget 2048".
func (e Effort) String() string {
	if e.Level != "" {
		return e.Level
	}
	return "budget " + strconv.Itoa(e.Budget)
}

// Validate checks the record by itself.
func (e Effort) Validate() diag.List {
	if e.Level == "" {
		if e.Budget > 0 {
			return nil
		}
		return diag.List{diag.New(diag.InvalidValue, "budget", "budget is %d; it must be a positive number of tokens", e.Budget)}
	}
	for _, level := range EffortLevels() {
		if e.Level == level {
			return nil
		}
	}
	return diag.List{diag.New(diag.InvalidValue, "", "reasoning_effort is %q; allowed are none, low, medium, high, max and {budget: tokens}", e.Level)}
}

// copied returns a pointer to a copy, or nil for nil.
func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}

// within moves diagnostics below a path.
func within(path string, list diag.List) diag.List {
	for i := range list {
		list[i].Path = diag.Join(path, list[i].Path)
	}
	return list
}

func atLeastZero(path string, v *int) diag.List {
	if v == nil || *v >= 0 {
		return nil
	}
	return diag.List{diag.New(diag.InvalidValue, path, "%s is %d; it must be 0 or more", path, *v)}
}
