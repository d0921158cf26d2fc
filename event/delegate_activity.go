package event

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// ActivityDelegate is the ActivityType of snapshots that show a delegate.
const ActivityDelegate = "delegate"

// DelegateRunning is the State of a running delegate. The other states are the values of Status.
const DelegateRunning = "running"

// DelegateActivity is the content of an activity that shows a delegate. Its counts
// include further delegates.
type DelegateActivity struct {
	Agent     string `json:"agent"`
	State     string `json:"state"`
	Steps     int    `json:"steps,omitempty"`
	ToolCalls int    `json:"tool_calls,omitempty"`
	Usage     Usage  `json:"usage,omitzero"`
	Cost      *Cost  `json:"cost,omitempty"`
	// Detail is the reason for a failure.
	Detail string `json:"detail,omitempty"`
}

// Delegate returns the content of an activity that shows a delegate. ok is false for other
// activities.
func (d *ActivitySnapshot) Delegate() (a DelegateActivity, ok bool) {
	if d.ActivityType != ActivityDelegate || json.Unmarshal(d.Content, &a) != nil {
		return DelegateActivity{}, false
	}
	return a, true
}

// String describes the delegate in one line.
func (a *DelegateActivity) String() string {
	text := a.Agent + " " + a.State
	if a.Detail != "" {
		text += ": " + a.Detail
	}
	if a.Usage.Total() > 0 || a.ToolCalls > 0 {
		calls := "tool calls"
		if a.ToolCalls == 1 {
			calls = "tool call"
		}
		text += fmt.Sprintf(", %d %s, %d tokens", a.ToolCalls, calls, a.Usage.Total())
	}
	if a.Cost != nil {
		text += ", " + a.Cost.String()
	}
	return text
}

// String formats the amount with at least two decimals, and with two significant digits if it is
// less than 0.1.
func (c *Cost) String() string {
	digits := 2
	for at := c.Amount; digits < 12 && at > 0 && at < 0.1; at *= 10 {
		digits++
	}
	return strconv.FormatFloat(c.Amount, 'f', digits, 64) + " " + c.Currency
}
