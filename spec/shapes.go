package spec

import (
	"encoding/json"
	"fmt"
	"slices"
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
		return fmt.Errorf("%q is not a duration such as 10s or 1m30s", text)
	}
	*d = Duration(v)
	return nil
}

// Effort is how much a model may think before it answers: a level, a percentage of
// the model's maximum, or a token budget. At most one field is set.
type Effort struct {
	// Level is one of EffortLevels.
	Level string
	// Percent is from 1 to 100; 0 is written as the level off.
	Percent int
	// Budget is the number of tokens the model may think for.
	Budget int
	// Variable is the tenant variable that holds a level or a percentage; empty if none.
	Variable string
}

// ParseEffort reads a level, or a number from 0 to 100.
func ParseEffort(text string) (Effort, bool) {
	if slices.Contains(EffortLevels(), text) {
		return Effort{Level: text}, true
	}
	percent, err := strconv.Atoi(text)
	return EffortPercent(percent), err == nil && percent >= 0 && percent <= maxPercent
}

// EffortLevels are the levels of reasoning effort, lowest first; none is
// another word for off.
func EffortLevels() []string { return []string{"off", "none", "low", "medium", "high", "max"} }

// The highest percentages that count as low and as medium effort.
const (
	lowEffort    = 35
	mediumEffort = 65
)

// Standard returns the effort's level: off, low, medium, high or max. A budget has none and
// returns "".
func (e Effort) Standard() string {
	switch {
	case e.Level == "none":
		return "off"
	case e.Level != "":
		return e.Level
	case e.Percent == 0:
		return ""
	case e.Percent <= lowEffort:
		return "low"
	case e.Percent <= mediumEffort:
		return "medium"
	default:
		return "high"
	}
}

// Share returns the effort as a number from 0 to 100 for vendors that expect one: off is 0, low
// 30, medium 50, high 80 and max 100. ok is false for a budget.
func (e Effort) Share() (percent int, ok bool) {
	switch e.Level {
	case "off", "none":
		return 0, true
	case "low":
		return 30, true
	case "medium":
		return 50, true
	case "high":
		return 80, true
	case "max":
		return maxPercent, true
	}
	return e.Percent, e.Percent != 0
}

const maxPercent = 100

type effortBudget struct {
	Budget int `json:"budget"`
}

// MarshalJSON writes the level as a string, the share as a number, or
// {"budget": n}.
func (e Effort) MarshalJSON() ([]byte, error) {
	switch {
	case e.Variable != "":
		return json.Marshal(Reference{TenantScope, e.Variable}.String())
	case e.Level != "":
		return json.Marshal(e.Level)
	case e.Percent != 0:
		return json.Marshal(e.Percent)
	}
	return json.Marshal(effortBudget{e.Budget})
}

// UnmarshalJSON reads a level, a number from 0 to 100, or {"budget": n}.
func (e *Effort) UnmarshalJSON(data []byte) error {
	var level string
	if err := json.Unmarshal(data, &level); err == nil {
		*e = Effort{Level: level}
		return nil
	}
	var percent int
	if err := json.Unmarshal(data, &percent); err == nil {
		*e = EffortPercent(percent)
		return nil
	}
	var budget effortBudget
	if err := json.Unmarshal(data, &budget); err != nil {
		return fmt.Errorf("reasoning effort is neither a level, a number from 0 to 100, nor {budget: n}: %w", err)
	}
	*e = Effort{Budget: budget.Budget}
	return nil
}

// EffortPercent returns the effort for a number from 0 to 100.
func EffortPercent(percent int) Effort {
	if percent == 0 {
		return Effort{Level: "off"}
	}
	return Effort{Percent: percent}
}

// String returns the level, the share as in "50", or the budget as in
// "budget 2048".
func (e Effort) String() string {
	switch {
	case e.Variable != "":
		return Reference{TenantScope, e.Variable}.String()
	case e.Level != "":
		return e.Level
	case e.Percent != 0:
		return strconv.Itoa(e.Percent)
	}
	return "budget " + strconv.Itoa(e.Budget)
}

// Validate checks the record by itself.
func (e Effort) Validate() diag.List {
	switch {
	case e.Variable != "":
		return nil
	case e.Level != "":
		if !slices.Contains(EffortLevels(), e.Level) {
			return diag.List{diag.New(diag.InvalidValue, "", "reasoning_effort is %q; allowed are off, low, medium, high, max, a number from 0 to 100 and {budget: tokens}", e.Level)}
		}
	case e.Percent < 0 || e.Percent > maxPercent:
		return diag.List{diag.New(diag.InvalidValue, "", "reasoning_effort is %d; as a number it must lie between 0 and 100", e.Percent)}
	case e.Percent == 0 && e.Budget <= 0:
		return diag.List{diag.New(diag.InvalidValue, "budget", "budget is %d; it must be a positive number of tokens", e.Budget)}
	}
	return nil
}
