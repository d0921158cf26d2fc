package fleet

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/cron"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/spec/workflow"
)

// judgeWorkflows reports what a tenant's workflows may not do. The calls of their steps are not
// made by agents, so agents' rules do not apply.
func (j *judge) judgeWorkflows() {
	for _, id := range j.overlay.Workflows {
		w, ok := j.tenant.Workflows.Get(id)
		if !ok {
			continue
		}
		before, _ := j.base.Workflows.Get(id)
		j.judgeSchedules(w)
		j.judgeLimits(w, before)
		j.judgeSteps(w, before)
	}
}

// judgeLimits reports limits of the configuration's workflow that a patch lifts.
func (j *judge) judgeLimits(w, before *workflow.Workflow) {
	if before == nil {
		return
	}
	report := func(field string) {
		path := diag.Join(diag.Key("workflows", w.ID), field)
		j.found = append(j.found, diag.New(diag.WidenedAccess, path, "the overlay of a tenant cannot raise %s of a workflow of the configuration", field).
			WithHint("keep it or lower it, or bring a workflow under another id"))
	}
	if most := before.Limit(); most > 0 && (w.Limit() == 0 || w.Limit() > most) {
		report("concurrency")
	}
	if before.Timeout != nil && (w.Timeout == nil || *w.Timeout > *before.Timeout) {
		report("timeout")
	}
}

// judgeSchedules reports schedules that run too often.
func (j *judge) judgeSchedules(w *workflow.Workflow) {
	for _, d := range checkSchedules(j.rights, w) {
		d.Path = diag.Join(diag.Key("workflows", w.ID), d.Path)
		j.found = append(j.found, d)
	}
}

// checkSchedules reports schedules of a workflow that run more often than tenants may schedule
// them.
func checkSchedules(rights *spec.TenantRights, w *workflow.Workflow) (list diag.List) {
	shortest := rights.Workflows.ShortestEvery()
	for i := range w.Schedules {
		times, err := cron.Parse(w.Schedules[i].Cron, "")
		if err != nil || times.ShortestGap() >= shortest { // decoding reports the error
			continue
		}
		path := w.WrittenPath(diag.Join(diag.Index("schedules", i), "cron"))
		list = append(list, diag.New(diag.WidenedAccess, path, "a schedule of a tenant cannot be due more often than every %s", shortest).
			WithHint("the configuration must allow it under tenants.may.workflows.min_every"))
	}
	return list
}

// judgeSteps reports steps' tool calls and models that the tenant may not use. Steps that the
// configuration's workflow already has may stay unchanged.
func (j *judge) judgeSteps(w, before *workflow.Workflow) {
	var known [][]byte
	if before != nil {
		known = encodeSteps(before.AllSteps())
	}
	steps := w.AllSteps()
	for i, encoded := range encodeSteps(steps) {
		if encoded != nil && slices.ContainsFunc(known, func(other []byte) bool { return bytes.Equal(other, encoded) }) {
			continue
		}
		if turn := steps[i].Agent; turn != nil && turn.ModelID != "" && !j.rights.MayChoose(turn.ModelID) {
			path := diag.Join(diag.Key("workflows", w.ID), w.WrittenPath(diag.Join(diag.Index("steps", i), "agent.model_id")))
			j.found = append(j.found, diag.New(diag.WidenedAccess, path, "a step of a workflow of a tenant cannot choose the model %q", clip.Text(turn.ModelID)).
				WithHint("the configuration must allow it under tenants.may.models"))
		}
		call := steps[i].Tool
		if call == nil || slices.Contains(j.overlay.OwnTools, j.tenant.Tools.Owner(call.Name)) || j.rights.Workflows.MayCall(call.Name) {
			continue
		}
		path := diag.Join(diag.Key("workflows", w.ID), pathOfStep(w, i))
		j.found = append(j.found, refusedCall(path, call.Name))
	}
}

func refusedCall(path, tool string) diag.Diagnostic {
	return diag.New(diag.WidenedAccess, path, "a step of a workflow of a tenant cannot call the tool %q of the configuration", clip.Text(tool)).
		WithHint("the configuration must allow it under tenants.may.workflows.tools, or an agent has to make the call")
}

// pathOfStep returns the path of a step's tool in its workflow.
func pathOfStep(w *workflow.Workflow, i int) string {
	switch {
	case len(w.Steps) > 0:
		return w.WrittenPath(diag.Join(diag.Index("steps", i), "tool.name"))
	case i > 0:
		return "target.output_delivery.tool"
	default:
		return "target.tool.name"
	}
}

// encodeSteps returns each step as JSON.
func encodeSteps(steps []workflow.Step) [][]byte {
	list := make([][]byte, len(steps))
	for i := range steps {
		data, err := json.Marshal(&steps[i])
		if err != nil {
			data = nil // it equals none
		}
		list[i] = data
	}
	return list
}
