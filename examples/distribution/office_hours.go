package main

import (
	"context"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
)

// officeHours is a plugin that lets agents call tools only during office hours.
type officeHours struct {
	Opens  int `json:"opens" doc:"The hour from which tools may be called, 0 to 23, in UTC."`
	Closes int `json:"closes" doc:"The hour at which they may not be called any more, 1 to 24."`
}

// Validate returns the errors in the settings, each at its field.
func (h *officeHours) Validate() diag.List {
	var found diag.List
	if h.Opens < 0 || h.Opens > 23 {
		found = append(found, diag.New(diag.InvalidValue, "opens", "opens is %d; it must be an hour from 0 to 23", h.Opens))
	}
	if h.Closes <= h.Opens || h.Closes > 24 {
		found = append(found, diag.New(diag.InvalidValue, "closes", "closes is %d; it must be after opens, at most 24", h.Closes))
	}
	return found
}

// officeHoursKind is the plugin type office_hours.
func officeHoursKind() plugins.Kind {
	return spec.NewKind("office_hours", "Blocks tool calls outside of the team's hours.",
		func(_ plugins.Settings, h *officeHours) (plugins.Plugin, error) { return h, nil })
}

// Descriptor describes the plugin.
func (*officeHours) Descriptor() plugins.Descriptor {
	return plugins.Descriptor{Summary: "Blocks tool calls outside of the team's hours."}
}

// Register adds the gate.
func (h *officeHours) Register(r *plugins.Registrar) error {
	r.ToolGate(h)
	return nil
}

// Check blocks a call outside office hours.
func (h *officeHours) Check(context.Context, *plugins.PhaseContext) (plugins.Decision, error) {
	if hour := time.Now().UTC().Hour(); hour < h.Opens || hour >= h.Closes {
		return plugins.Decision{Kind: plugins.Block, Reason: fmt.Sprintf("tools may be called from %d to %d o'clock UTC", h.Opens, h.Closes)}, nil
	}
	return plugins.Decision{}, nil
}
