package a2awire

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/nearest"
	"github.com/agentruntime/agentruntime/spec"
)

// Extension is the URI of the delegation extension. A runtime lists it in its agents' cards; a
// caller sends a Grant only to those agents, under this key of the message's metadata, and finds a
// Report under the same key in the task's metadata.
const Extension = "https://agentruntime.dev/a2a/delegation/v1"

// The largest accepted numbers. A Grant is capped to them; a Report beyond them is an error.
const (
	maxDepth  = 1000
	maxTokens = 1_000_000_000
	maxCost   = 1_000_000
	maxCalls  = 1_000_000
)

// Declaration returns the extension in the form for a card.
func Declaration() a2a.AgentExtension {
	return a2a.AgentExtension{
		URI:         Extension,
		Description: "Takes the budgets, the deadline and the depth of a delegated turn, and reports what it used.",
	}
}

// Declared reports whether a card lists the extension.
func Declared(card *a2a.AgentCard) bool {
	if card == nil {
		return false
	}
	for i := range card.Capabilities.Extensions {
		if card.Capabilities.Extensions[i].URI == Extension {
			return true
		}
	}
	return false
}

// Grant is the spending limit of a delegated turn. Nil limits and zero times do not limit.
type Grant struct {
	// Depth is the number of turns that led to this one.
	Depth int
	// Deadline is when the caller stops waiting.
	Deadline time.Time
	// MaxTokens limits the input and output tokens of all model calls.
	MaxTokens *int
	// MaxCost limits the cost, in Currency, an ISO 4217 code; empty means USD.
	MaxCost  *float64
	Currency string
	// MaxModelCalls and MaxToolCalls limit the calls.
	MaxModelCalls, MaxToolCalls *int
}

// Report is the usage of a delegated turn, including its own delegates.
type Report struct {
	Usage event.Usage
	// Cost is nil if no model has a price.
	Cost  *event.Cost
	Steps int
}

// SetGrant puts a grant into the metadata of a message.
func SetGrant(carrier a2a.MetadataCarrier, g *Grant) {
	fields := map[string]any{"depth": g.Depth}
	if !g.Deadline.IsZero() {
		fields["deadline"] = g.Deadline.UTC().Format(time.RFC3339Nano)
	}
	putLimit(fields, "max_tokens", g.MaxTokens)
	putLimit(fields, "max_model_calls", g.MaxModelCalls)
	putLimit(fields, "max_tool_calls", g.MaxToolCalls)
	if g.MaxCost != nil {
		fields["max_cost"], fields["currency"] = max(*g.MaxCost, 0), cmp.Or(g.Currency, spec.DefaultCurrency)
	}
	carrier.SetMeta(Extension, fields)
}

// GrantOf returns the grant in a message's metadata, or nil if there is no grant. Limits that are
// too large are capped. Unknown fields are ignored unless they may be limits: those that look like
// a known field, or begin with "max". The error is a *MetadataError: an unreadable limit must not
// count as no limit.
func GrantOf(metadata map[string]any) (*Grant, error) {
	r, err := readerOf(metadata)
	if r == nil || err != nil {
		return nil, err
	}
	r.checkNames()
	g := &Grant{
		Deadline:      r.readTime("deadline"),
		MaxTokens:     r.readLimit("max_tokens", maxTokens),
		MaxModelCalls: r.readLimit("max_model_calls", maxCalls),
		MaxToolCalls:  r.readLimit("max_tool_calls", maxCalls),
	}
	if depth := r.readLimit("depth", maxDepth); depth != nil {
		g.Depth = *depth
	}
	if cost, ok := r.readNumber("max_cost"); ok {
		cost = min(cost, maxCost)
		g.MaxCost, g.Currency = &cost, r.readCurrency("currency")
	}
	if r.err != nil {
		return nil, r.err
	}
	return g, nil
}

// grantFields are the fields of a Grant.
var grantFields = []string{"depth", "deadline", "max_tokens", "max_cost", "currency", "max_model_calls", "max_tool_calls"}

// checkNames rejects an unknown field that may be meant as a limit.
func (r *reader) checkNames() {
	for _, name := range slices.Sorted(maps.Keys(r.fields)) {
		if slices.Contains(grantFields, name) {
			continue
		}
		if near, ok := nearest.Of(name, grantFields); ok {
			r.noteError(clip.Text(name), "is not known; did you mean %q?", near)
		} else if len(name) >= 3 && strings.EqualFold(name[:3], "max") {
			r.noteError(clip.Text(name), "is not known, and may be a limit")
		}
	}
}

// SetReport puts a report into the metadata of a task or an event.
func SetReport(carrier a2a.MetadataCarrier, r *Report) {
	usage := map[string]any{"input_tokens": r.Usage.Input, "output_tokens": r.Usage.Output}
	putCount(usage, "cached_tokens", r.Usage.CacheRead)
	putCount(usage, "cache_write_tokens", r.Usage.CacheWrite)
	putCount(usage, "reasoning_tokens", r.Usage.Reasoning)
	fields := map[string]any{"usage": usage, "steps": r.Steps}
	if r.Cost != nil {
		fields["cost"] = map[string]any{"amount": r.Cost.Amount, "currency": cmp.Or(r.Cost.Currency, spec.DefaultCurrency)}
	}
	carrier.SetMeta(Extension, fields)
}

// ReportOf returns the report in the metadata of a task or an event, or nil if
// none. Unknown fields are ignored. The error is a *MetadataError.
func ReportOf(metadata map[string]any) (*Report, error) {
	r, err := readerOf(metadata)
	if r == nil || err != nil {
		return nil, err
	}
	report := &Report{Steps: r.readCount("steps", maxCalls)}
	if usage := r.readObject("usage"); usage != nil {
		report.Usage = event.Usage{
			Input:      usage.readCount("input_tokens", maxTokens),
			Output:     usage.readCount("output_tokens", maxTokens),
			CacheRead:  usage.readCount("cached_tokens", maxTokens),
			CacheWrite: usage.readCount("cache_write_tokens", maxTokens),
			Reasoning:  usage.readCount("reasoning_tokens", maxTokens),
		}
		r.joinError(usage)
	}
	if cost := r.readObject("cost"); cost != nil {
		amount, _ := cost.readNumber("amount")
		if amount > maxCost {
			cost.noteError("amount", "is not from 0 to %d", maxCost)
		}
		report.Cost = &event.Cost{Amount: amount, Currency: cost.readCurrency("currency")}
		r.joinError(cost)
	}
	if r.err != nil {
		return nil, r.err
	}
	return report, nil
}

func putLimit(fields map[string]any, name string, limit *int) {
	if limit != nil {
		fields[name] = max(*limit, 0)
	}
}

func putCount(fields map[string]any, name string, n int) {
	if n != 0 {
		fields[name] = n
	}
}
