package native

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/service"
)

// isSearch reports whether the query has conditions that the store does not check.
func (t *TurnQuery) isSearch() bool { return t.Text != "" || t.MinCost > 0 || t.MinDuration > 0 }

// matchesTurn reports whether a turn has the cost and duration of the query.
func (t *TurnQuery) matchesTurn(turn *service.Turn) bool {
	if t.MinCost > 0 && (turn.Outcome == nil || turn.Outcome.Cost == nil || turn.Outcome.Cost.Amount < t.MinCost) {
		return false
	}
	if t.MinDuration == 0 {
		return true
	}
	end := turn.FinishedAt
	if end.IsZero() {
		end = time.Now()
	}
	return !turn.StartedAt.IsZero() && end.Sub(turn.StartedAt) >= t.MinDuration
}

// containsText reports whether a turn, in the callers' form, contains a text in lower case.
func (t *Turn) containsText(text string) bool {
	parts := []string{t.ID, t.SessionID, t.AgentID, t.Owner.Subject}
	for i := range t.WaitsFor {
		parts = append(parts, t.WaitsFor[i].Message)
	}
	if o := t.Outcome; o != nil {
		parts = append(parts, o.Response, o.Termination.Code, o.Termination.Detail)
	}
	for _, part := range parts {
		if strings.Contains(strings.ToLower(part), text) {
			return true
		}
	}
	var metadata any
	_ = json.Unmarshal(t.Metadata, &metadata) // invalid metadata contains nothing
	return valueContains(metadata, text)
}

// valueContains reports whether a name or string in a JSON value contains a text in lower case.
func valueContains(value any, text string) bool {
	switch v := value.(type) {
	case string:
		return strings.Contains(strings.ToLower(v), text)
	case []any:
		for _, one := range v {
			if valueContains(one, text) {
				return true
			}
		}
	case map[string]any:
		for name, one := range v {
			if valueContains(name, text) || valueContains(one, text) {
				return true
			}
		}
	}
	return false
}
