package a2awire

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/spec"
)

// Extension is the URI of the delegation extension. A runtime lists it in the
// cards of its agents; a caller sends a Grant to those agents only, under this
// key of the message's metadata, and finds a Report under it in the metadata of
// the task.
const Extension = "https://agentruntime.dev/a2a/delegation/v1"

// The largest numbers that are believed. A Grant is cut down to them; a Report
// beyond them is an error.
const (
	maxDepth  = 1000
	maxTokens = 1_000_000_000
	maxCost   = 1_000_000
	maxCalls  = 1_000_000
)

// Declaration returns the extension as a card lists it.
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

// Grant is what the caller of a delegated turn lets it spend. Nil limits and
// zero times do not limit.
type Grant struct {
	// Depth is how many turns led to this one, that of the agent which runs at the
	// peer included: 1 when nobody delegated it.
	Depth int
	// Deadline is when the caller stops waiting.
	Deadline time.Time
	// MaxTokens limits the input and output tokens of all model calls.
	MaxTokens *int
	// MaxCost limits the money, in Currency, an ISO 4217 code; USD when empty.
	MaxCost  *float64
	Currency string
	// MaxModelCalls and MaxToolCalls limit the calls.
	MaxModelCalls, MaxToolCalls *int
}

// Report is what a delegated turn has used, its own delegates included.
type Report struct {
	Usage event.Usage
	// Cost is nil where no model has a price.
	Cost  *event.Cost
	Steps int
}

// A MetadataError says what is wrong with the extension's metadata that a peer
// sent.
type MetadataError struct {
	// Field is the field that is wrong; empty for all of it.
	Field   string
	Problem string
}

// Error names the field and the problem.
func (e *MetadataError) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("the metadata of %s %s", Extension, e.Problem)
	}
	return fmt.Sprintf("%s in the metadata of %s %s", e.Field, Extension, e.Problem)
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

// GrantOf returns the grant in the metadata of a message, or nil when there is
// none. Unknown fields are ignored, and limits larger than any are taken for the
// largest. The error is a *MetadataError: a limit that cannot be read must not
// be taken for none.
func GrantOf(metadata map[string]any) (*Grant, error) {
	r, err := readerOf(metadata)
	if r == nil || err != nil {
		return nil, err
	}
	g := &Grant{
		Deadline:      r.time("deadline"),
		MaxTokens:     r.limit("max_tokens", maxTokens),
		MaxModelCalls: r.limit("max_model_calls", maxCalls),
		MaxToolCalls:  r.limit("max_tool_calls", maxCalls),
	}
	if depth := r.limit("depth", maxDepth); depth != nil {
		g.Depth = *depth
	}
	if cost, ok := r.number("max_cost"); ok {
		cost = min(cost, maxCost)
		g.MaxCost, g.Currency = &cost, r.currency("currency")
	}
	if r.err != nil {
		return nil, r.err
	}
	return g, nil
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

// ReportOf returns the report in the metadata of a task or an event, or nil when
// there is none. Unknown fields are ignored. The error is a *MetadataError.
func ReportOf(metadata map[string]any) (*Report, error) {
	r, err := readerOf(metadata)
	if r == nil || err != nil {
		return nil, err
	}
	report := &Report{Steps: r.count("steps", maxCalls)}
	if usage := r.object("usage"); usage != nil {
		report.Usage = event.Usage{
			Input:      usage.count("input_tokens", maxTokens),
			Output:     usage.count("output_tokens", maxTokens),
			CacheRead:  usage.count("cached_tokens", maxTokens),
			CacheWrite: usage.count("cache_write_tokens", maxTokens),
			Reasoning:  usage.count("reasoning_tokens", maxTokens),
		}
		r.join(usage)
	}
	if cost := r.object("cost"); cost != nil {
		amount, _ := cost.number("amount")
		if amount > maxCost {
			cost.fail("amount", "is not from 0 to %d", maxCost)
		}
		report.Cost = &event.Cost{Amount: amount, Currency: cost.currency("currency")}
		r.join(cost)
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

// reader reads fields that a peer wrote and keeps the first error.
type reader struct {
	fields map[string]any
	err    error
}

// readerOf returns a reader of the extension's fields, or nil when there are
// none.
func readerOf(metadata map[string]any) (*reader, error) {
	value, ok := metadata[Extension]
	if !ok || value == nil {
		return nil, nil
	}
	fields, ok := value.(map[string]any)
	if !ok {
		return nil, &MetadataError{Problem: "is no object"}
	}
	return &reader{fields: fields}, nil
}

func (r *reader) fail(field, format string, args ...any) {
	if r.err == nil {
		r.err = &MetadataError{Field: field, Problem: fmt.Sprintf(format, args...)}
	}
}

// join takes over the error of a reader of an inner object.
func (r *reader) join(inner *reader) {
	if r.err == nil {
		r.err = inner.err
	}
}

// object returns a reader of an inner object, or nil when there is none.
func (r *reader) object(field string) *reader {
	value, ok := r.fields[field]
	if !ok || value == nil {
		return nil
	}
	fields, ok := value.(map[string]any)
	if !ok {
		r.fail(field, "is no object")
		return nil
	}
	return &reader{fields: fields}
}

// number returns a number that is not negative; ok is false when there is none.
func (r *reader) number(field string) (n float64, ok bool) {
	switch value := r.fields[field].(type) {
	case nil:
		return 0, false
	case float64:
		n = value
	case int:
		n = float64(value)
	case int64:
		n = float64(value)
	case json.Number:
		var err error
		if n, err = value.Float64(); err != nil {
			n = math.NaN()
		}
	default:
		n = math.NaN()
	}
	if math.IsNaN(n) || math.IsInf(n, 0) || n < 0 {
		r.fail(field, "is no number from 0")
		return 0, false
	}
	return n, true
}

// count returns a whole number up to largest, or 0 when there is none.
func (r *reader) count(field string, largest int) int {
	n, ok := r.number(field)
	if ok && (n > float64(largest) || n != math.Trunc(n)) {
		r.fail(field, "is no whole number from 0 to %d", largest)
		return 0
	}
	return int(n)
}

// limit returns a limit, cut down to the largest; nil when there is none.
func (r *reader) limit(field string, largest int) *int {
	n, ok := r.number(field)
	if !ok {
		return nil
	}
	limit := int(min(n, float64(largest)))
	return &limit
}

func (r *reader) time(field string) time.Time {
	value, ok := r.fields[field]
	if !ok || value == nil {
		return time.Time{}
	}
	text, _ := value.(string)
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		r.fail(field, "is no RFC 3339 time")
		return time.Time{}
	}
	return t
}

func (r *reader) currency(field string) string {
	text, _ := r.fields[field].(string)
	if len(text) != 3 || !upper(text) {
		r.fail(field, "is no ISO 4217 code")
		return ""
	}
	return text
}

func upper(text string) bool {
	for _, c := range []byte(text) {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return true
}
