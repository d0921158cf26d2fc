package core

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// loopDetector is the plugin that stops a model that repeatedly requests the same tool calls:
// first by answering them with a hint, then by asking for a final answer without tools.
type loopDetector struct{ consecutive, hardCutoff int }

var _ plugins.Plugin = (*loopDetector)(nil)

// NewLoopDetection returns the plugin for valid settings; if they disable it, or are nil, it
// detects nothing.
func NewLoopDetection(settings *spec.LoopDetection) plugins.Plugin {
	consecutive, hard := settings.Thresholds()
	return &loopDetector{consecutive: consecutive, hardCutoff: hard}
}

// Descriptor describes the plugin.
func (*loopDetector) Descriptor() plugins.Descriptor {
	return noSections("Stops a model that asks for the same tool calls again and again.")
}

// Register adds the check.
func (l *loopDetector) Register(r *plugins.Registrar) error {
	if l.consecutive > 0 {
		r.StateKey(streakKey)
		r.BatchGate(l.checkBatch)
	}
	return nil
}

// streak counts consecutive repetitions of the same calls.
type streak struct {
	Signature string `json:"signature"`
	Count     int    `json:"count"`
}

var streakKey = plugins.NewKey[streak]("runtime.loop_detection", plugins.ScopeRun)

const (
	repeatedText = "This call was not made: the same calls with the same arguments came %d times in a row, and their results would be the same."
	steerText    = "You are repeating the same tool calls. Do not make them again: use what you know already, try something else, or give your final answer."
	finalText    = "You have repeated the same tool calls too often. No further calls are possible: give your final answer from what you know."
)

// checkBatch counts the batch. The first batch above the limit gets a hint, the following ones only
// results, and the last one ends the use of tools.
func (l *loopDetector) checkBatch(_ context.Context, p *plugins.PhaseContext, calls []*model.ToolCall) (plugins.BatchDecision, error) {
	s := streakKey.Get(p)
	if signature := signatureOf(calls); signature != s.Signature {
		s = streak{Signature: signature}
	}
	s.Count++
	streakKey.Set(p, s)
	if s.Count < l.consecutive {
		return plugins.BatchDecision{}, nil
	}
	d := plugins.BatchDecision{Results: make(map[string]tools.Result, len(calls)), Finalize: s.Count >= l.hardCutoff}
	for _, c := range calls {
		d.Results[c.ID] = tools.ErrorResult(fmt.Sprintf(repeatedText, s.Count))
	}
	switch {
	case d.Finalize:
		d.Steer = finalText
	case s.Count == l.consecutive:
		d.Steer = steerText
	}
	if s.Count == l.consecutive || s.Count == l.hardCutoff {
		d.Events = []event.Data{&event.LoopDetected{Count: s.Count, HardCutoff: d.Finalize, Tools: namesOf(calls)}}
	}
	return d, nil
}

// signatureOf returns a digest of the calls in a batch, independent of the order of calls and
// arguments.
func signatureOf(calls []*model.ToolCall) string {
	parts := make([]string, len(calls))
	for i, c := range calls {
		parts[i] = strconv.Quote(c.Name) + canonicalJSON(c.Arguments)
	}
	slices.Sort(parts)
	for i := range parts {
		parts[i] = strconv.Itoa(len(parts[i])) + ":" + parts[i]
	}
	return digestOf(strings.Join(parts, ""))
}

// canonicalJSON returns arguments with sorted keys and without whitespace; invalid JSON is
// returned unchanged. Missing arguments become an empty object.
func canonicalJSON(raw json.RawMessage) string {
	var v any
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	switch err := decoder.Decode(&v); {
	case len(raw) == 0 || err == nil && v == nil && !decoder.More():
		return "{}"
	case err != nil || decoder.More():
		return string(raw)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return string(raw) // values decoded from JSON can be encoded
	}
	return string(data)
}

// namesOf returns the names of the tools, sorted and without duplicates.
func namesOf(calls []*model.ToolCall) []string {
	names := make([]string, len(calls))
	for i, c := range calls {
		names[i] = c.Name
	}
	slices.Sort(names)
	return slices.Compact(names)
}
