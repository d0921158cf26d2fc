package provider

import (
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/backend/provider/internal/hostservice"
	"github.com/agentruntime/agentruntime/model"
)

// maxBatch is the maximum number of calls in one answer.
const maxBatch = 100

// openCalls lets the provider call back for the turn.
func (d *drive) openCalls() error {
	d.process.opening.Lock()
	defer d.process.opening.Unlock()
	if d.calls != nil && d.calls.TurnID == d.at.TurnID {
		return nil
	}
	entries := d.job.Local.Tools
	offered := make([]hostservice.Tool, 0, len(d.job.Local.Offered))
	if canCallTools(d.process.current().Capabilities) && !d.hosted.provider.toolless {
		for _, t := range d.job.Local.Offered {
			offered = append(offered, hostservice.Tool{Tool: t, Effect: entries.Get(t.Name).Descriptor.EffectClass()})
		}
	}
	calls, err := d.hosted.provider.host.service.Open(&hostservice.Turn{
		SessionID: d.at.SessionID, TurnID: d.at.TurnID, RuntimeTurnID: d.job.TurnID, Tools: offered, Connections: d.hosted.provider.connections,
		Until: time.Now().Add(grantLimit), Earlier: d.at.Grant,
	})
	if err != nil {
		return err
	}
	d.calls = calls
	if d.job.State != nil {
		d.settleResults(d.job.State.Messages)
	}
	return nil
}

// deliverResults hands the results of the last calls to the provider.
func (d *drive) deliverResults(req *model.Request) {
	if n := len(req.Messages); n > 0 {
		for i := n - 1; i >= 0 && req.Messages[i].Role != model.RoleAssistant; i-- {
			d.settleResults(req.Messages[i : i+1])
		}
	}
}

// settleResults hands the results among messages to the provider.
func (d *drive) settleResults(messages []model.Message) {
	for i := range messages {
		for j := range messages[i].Parts {
			if r := messages[i].Parts[j].ToolResult; r != nil {
				d.known[r.CallID] = true
				d.calls.SettleCall(d.providerCall(r.CallID), outcomeOf(r))
			}
		}
	}
}

// outcomeOf returns a call's result in the form for providers.
func outcomeOf(r *model.ToolResult) hostservice.Outcome {
	o := hostservice.Outcome{Status: 200, Body: model.PartsText(r.Content)}
	if r.IsError {
		o.Status = 400
	}
	return o
}

// passCalls adds the provider's calls to the answer.
func (d *drive) passCalls() error {
	for i, c := range d.calls.TakeCalls(maxBatch) {
		id := d.loopCall(c.ID)
		d.known[c.ID] = true
		if err := d.said.pass(
			model.Event{Type: model.EventToolCallStart, Index: i, ID: id, Name: c.Tool},
			model.Event{Type: model.EventToolCallEnd, Index: i, Delta: string(c.Arguments)},
		); err != nil {
			return err
		}
	}
	return d.said.pass(model.Event{Type: model.EventFinish, Reason: model.FinishToolCalls})
}

// loopCall returns the turn's id for a call of the provider: the call's id, qualified in further
// provider turns, which may reuse ids.
func (d *drive) loopCall(id string) string {
	if d.at.Number < 2 {
		return id
	}
	return strconv.Itoa(d.at.Number) + "." + id
}

// providerCall returns the provider's id for a call of the turn.
func (d *drive) providerCall(id string) string {
	if d.at.Number < 2 {
		return id
	}
	return strings.TrimPrefix(id, strconv.Itoa(d.at.Number)+".")
}
