package event

// FinishReason is the reason why a model's answer ended. Package model defines the known reasons.
type FinishReason string

// Outcome is the outcome of a turn. Types that return or store it embed it.
type Outcome struct {
	Agent string `json:"agent,omitempty" jsonschema:"Agent that had the conversation at the end of the turn."`
	// Revision is the number of the revision in which the turn was resolved.
	Revision uint64 `json:"revision,omitempty"`
	// Termination is the reason why the turn ended.
	Termination Termination `json:"termination"`
	// Response is the text of the last answer, or only its JSON value if the answer had to match a
	// schema; FinishReason is why that answer ended.
	Response     string       `json:"response,omitempty"`
	FinishReason FinishReason `json:"finish_reason,omitempty"`
	Steps        int          `json:"steps,omitempty"`
	Usage        Usage        `json:"usage,omitzero"`
	// Cost is the price of the model calls; nil when no model has a price.
	Cost   *Cost       `json:"cost,omitempty"`
	Agents AgentUsages `json:"agents,omitempty" jsonschema:"Usage by agent and model. Absent if one agent used one model."`
	// SnapshotID is the snapshot left by a kept turn; empty if it left none.
	SnapshotID string `json:"snapshot_id,omitempty"`
}

// RunFinish returns the event that ends a turn with the outcome.
func (o *Outcome) RunFinish() *RunFinish {
	status := o.Termination.Status()
	done := &RunFinish{
		Status: status, Termination: o.Termination, Usage: o.Usage, Cost: o.Cost, Agents: o.Agents, Steps: o.Steps, FinishReason: o.FinishReason,
	}
	if o.Response != "" || status == StatusSucceeded {
		done.Result = &Output{Response: o.Response}
	}
	return done
}
