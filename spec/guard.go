package spec

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/internal/clip"
)

// The default thresholds of loop detection.
const (
	// DefaultConsecutiveThreshold is the number of consecutive identical batches of tool calls that
	// are answered with a hint instead of results.
	DefaultConsecutiveThreshold = 3
	// DefaultHardCutoffThreshold is how many such batches end the use of tools.
	DefaultHardCutoffThreshold = 6

	maxLoopThreshold    = 100
	minConsecutive      = 2
	minHardCutoff       = 3
	maxToolBudgets      = 32
	maxToolBudgetName   = 120
	maxToolBudgetCalls  = 1000
	maxModelOrToolCalls = 1_000_000
	maxBudgetOfTokens   = 1_000_000_000
	maxBudgetOfMoney    = 1_000_000
)

// Budgets limit a turn, including its delegates. An absent field means no limit. A turn that
// exceeds one ends as budget_exceeded.
type Budgets struct {
	MaxTokens     *int      `json:"max_tokens,omitempty" min:"1" max:"1000000000" doc:"Input and output tokens of all model calls."`
	MaxCost       *float64  `json:"max_cost,omitempty" min:"0" max:"1000000" doc:"Cost by model pricing. Every model that the turn or a delegate may use needs pricing in one currency; calls without a price are not counted. A request whose limit cannot be measured is rejected."`
	Currency      string    `json:"currency,omitempty" pattern:"^[A-Z]{3}$" doc:"Currency of max_cost, as an ISO 4217 code. Defaults to the currency of the models' prices."`
	MaxDuration   *Duration `json:"max_duration,omitempty" doc:"Working time of the turn, excluding waits for a person."`
	MaxModelCalls *int      `json:"max_model_calls,omitempty" min:"1" max:"1000000" doc:"Calls of a model, retries not counted."`
	MaxToolCalls  *int      `json:"max_tool_calls,omitempty" min:"0" max:"1000000" doc:"Tool calls that are executed."`
}

// Within returns the budgets that satisfy both: the smaller of each. Nil means no limits. If the
// currencies differ, b's cost limit stays.
func (b *Budgets) Within(limits *Budgets) *Budgets {
	if b == nil || limits == nil {
		return clone(cmp.Or(b, limits))
	}
	c := clone(b)
	c.MaxTokens = smallerLimit(c.MaxTokens, limits.MaxTokens)
	switch {
	case c.MaxCost == nil:
		c.MaxCost, c.Currency = clone(limits.MaxCost), limits.Currency
	case limits.MaxCost != nil && (c.Currency == limits.Currency || c.Currency == "" || limits.Currency == ""):
		c.MaxCost, c.Currency = smallerLimit(c.MaxCost, limits.MaxCost), cmp.Or(c.Currency, limits.Currency)
	}
	c.MaxDuration = smallerLimit(c.MaxDuration, limits.MaxDuration)
	c.MaxModelCalls = smallerLimit(c.MaxModelCalls, limits.MaxModelCalls)
	c.MaxToolCalls = smallerLimit(c.MaxToolCalls, limits.MaxToolCalls)
	return c
}

// smallerLimit returns the smaller of two limits; nil means no limit.
func smallerLimit[T cmp.Ordered](a, b *T) *T {
	if a == nil || b != nil && *b < *a {
		return clone(b)
	}
	return a
}

// currencyCode matches the form of ISO 4217 codes.
var currencyCode = regexp.MustCompile(`^[A-Z]{3}$`)

// Validate checks the record by itself. Paths are relative to the budgets.
func (b *Budgets) Validate() diag.List {
	list := slices.Concat(
		check.Positive("max_tokens", b.MaxTokens), check.Positive("max_model_calls", b.MaxModelCalls), check.NotNegative("max_tool_calls", b.MaxToolCalls),
		atMost("max_tokens", b.MaxTokens, maxBudgetOfTokens), atMost("max_model_calls", b.MaxModelCalls, maxModelOrToolCalls),
		atMost("max_tool_calls", b.MaxToolCalls, maxModelOrToolCalls),
	)
	if c := b.MaxCost; c != nil && !(*c >= 0 && *c <= maxBudgetOfMoney) {
		list = append(list, diag.New(diag.InvalidValue, "max_cost", "max_cost is %g; it must lie between 0 and %d", *c, maxBudgetOfMoney))
	}
	if b.Currency != "" && !currencyCode.MatchString(b.Currency) {
		list = append(list, diag.New(diag.InvalidValue, "currency", "currency is %q; it must be an ISO 4217 code such as USD", clip.Text(b.Currency)))
	}
	if d := b.MaxDuration; d != nil && *d <= 0 {
		list = append(list, diag.New(diag.InvalidValue, "max_duration", "max_duration is %s; it must be more than 0", d))
	}
	return list
}

// LoopDetection stops a model that repeats the same tool calls. Absent thresholds have their
// defaults.
type LoopDetection struct {
	Enabled              *bool `json:"enabled,omitempty" default:"true" doc:"false disables detection, such as when the defaults enable it."`
	ConsecutiveThreshold *int  `json:"consecutive_threshold,omitempty" min:"2" max:"100" default:"3" doc:"Consecutive identical call batches at which a hint replaces execution."`
	HardCutoffThreshold  *int  `json:"hard_cutoff_threshold,omitempty" min:"3" max:"100" default:"6" doc:"Repetitions that end tool use: the model must answer. Must exceed consecutive_threshold."`
}

// Thresholds returns the thresholds, both 0 when the detection is off.
func (l *LoopDetection) Thresholds() (consecutive, hardCutoff int) {
	if l == nil || l.Enabled != nil && !*l.Enabled {
		return 0, 0
	}
	return orDefault(l.ConsecutiveThreshold, DefaultConsecutiveThreshold), orDefault(l.HardCutoffThreshold, DefaultHardCutoffThreshold)
}

// Validate checks the record by itself, with the defaults merged under it.
func (l *LoopDetection) Validate() diag.List {
	list := slices.Concat(
		checkRange("consecutive_threshold", l.ConsecutiveThreshold, minConsecutive, maxLoopThreshold),
		checkRange("hard_cutoff_threshold", l.HardCutoffThreshold, minHardCutoff, maxLoopThreshold),
	)
	if list != nil {
		return list
	}
	on := *l
	on.Enabled = nil
	if consecutive, hard := on.Thresholds(); hard <= consecutive {
		path := "hard_cutoff_threshold"
		if l.HardCutoffThreshold == nil {
			path = "consecutive_threshold"
		}
		return diag.List{diag.New(diag.InvalidValue, path,
			"hard_cutoff_threshold is %d and consecutive_threshold %d; the first must be more than the second", hard, consecutive).
			WithHint("the defaults are %d and %d", DefaultHardCutoffThreshold, DefaultConsecutiveThreshold)}
	}
	return nil
}

// ToolBudget bounds the calls of one tool in a turn.
type ToolBudget struct {
	MaxCalls int `json:"max_calls" required:"true" min:"0" max:"1000" doc:"Maximum executed calls; further calls are answered with a hint. 0 executes none."`
}

func checkToolBudgets(budgets map[string]ToolBudget) diag.List {
	var list diag.List
	if len(budgets) > maxToolBudgets {
		list = append(list, diag.New(diag.InvalidValue, "", "there are %d tool budgets; at most %d are allowed", len(budgets), maxToolBudgets))
	}
	for _, name := range slices.Sorted(maps.Keys(budgets)) {
		path := diag.Key("", name)
		if n := utf8.RuneCountInString(name); n < 1 || n > maxToolBudgetName {
			list = append(list, diag.New(diag.InvalidValue, path, "the name of a tool has from 1 to %d characters", maxToolBudgetName))
		}
		if n := budgets[name].MaxCalls; n < 0 || n > maxToolBudgetCalls {
			list = append(list, diag.New(diag.InvalidValue, path+".max_calls", "max_calls is %d; it must lie between 0 and %d", n, maxToolBudgetCalls))
		}
	}
	return list
}
