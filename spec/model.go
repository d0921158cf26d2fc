package spec

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
)

// Modality is a kind of content that a model reads or writes.
type Modality string

// The modalities a model may declare.
const (
	ModalityText  Modality = "text"
	ModalityImage Modality = "image"
	ModalityAudio Modality = "audio"
	ModalityVideo Modality = "video"
	ModalityPDF   Modality = "pdf"
)

// JoinModalities joins the names of modalities with a separator.
func JoinModalities(list []Modality, separator string) string {
	names := make([]string, len(list))
	for i, m := range list {
		names[i] = string(m)
	}
	return strings.Join(names, separator)
}

// Model maps a model id to a provider and the provider's name for the model, with the model's
// known capabilities and price.
type Model struct {
	ID              string      `json:"id" key:"true" doc:"The model's id."`
	ProviderID      string      `json:"provider_id" required:"true" doc:"The provider that serves the model."`
	UpstreamModel   string      `json:"upstream_model" required:"true" doc:"The provider's own name of the model."`
	Label           string      `json:"label,omitempty" doc:"The name shown in model lists. Defaults to the vendor and the upstream model."`
	ContextWindow   *int        `json:"context_window,omitempty" min:"1" doc:"Maximum tokens of a request, answer included."`
	MaxOutputTokens *int        `json:"max_output_tokens,omitempty" min:"1" doc:"Token limit of an answer. No request asks for more."`
	Modalities      *Modalities `json:"modalities,omitempty" doc:"Kinds of content the model reads and writes."`
	KnowledgeCutoff string      `json:"knowledge_cutoff,omitempty" doc:"The model's knowledge cutoff, as YYYY-MM or YYYY-MM-DD. It is sent to the model with the date."`
	Pricing         *Pricing    `json:"pricing,omitempty" doc:"The price of tokens."`
	// ReasoningTags is empty for ReadTags.
	ReasoningTags ReasoningTags `json:"reasoning_tags,omitempty" enum:"read|keep" default:"read" doc:"Handling of text in tags such as <think> at the start of an answer: read treats it as reasoning, keep leaves it in the text."`
	ModelOptions
}

// ReasoningTags is the treatment of tagged reasoning at the beginning of an answer's text.
type ReasoningTags string

// The treatments of tagged reasoning.
const (
	// ReadTags makes it reasoning.
	ReadTags ReasoningTags = "read"
	// KeepTags leaves the reasoning in the text.
	KeepTags ReasoningTags = "keep"
)

// Modalities lists the kinds of content a model reads and writes.
type Modalities struct {
	Input  []Modality `json:"input,omitempty" enum:"text|image|audio|video|pdf" doc:"Kinds of content the model reads."`
	Output []Modality `json:"output,omitempty" enum:"text|image|audio|video|pdf" doc:"Kinds of content the model writes. Agents can only run on models that write text."`
}

// Pricing is the price of a model per million tokens.
type Pricing struct {
	InputPerMillion       float64  `json:"input_per_million" min:"0" doc:"Price of a million input tokens."`
	OutputPerMillion      float64  `json:"output_per_million" min:"0" doc:"Price of a million output tokens."`
	CachedInputPerMillion *float64 `json:"cached_input_per_million,omitempty" min:"0" doc:"Price of a million input tokens read from the provider's cache."`
	Currency              string   `json:"currency,omitempty" default:"USD" doc:"Currency of the prices, as an ISO 4217 code."`
}

// DefaultCurrency is the currency of prices without one.
const DefaultCurrency = "USD"

// CurrencyCode returns the currency of the prices.
func (p *Pricing) CurrencyCode() string { return cmp.Or(p.Currency, DefaultCurrency) }

// Validate checks the record by itself. Paths are relative to the model.
func (m *Model) Validate() diag.List {
	list := check.Required("provider_id", m.ProviderID)
	list = append(list, check.Required("upstream_model", m.UpstreamModel)...)
	list = append(list, check.Positive("context_window", m.ContextWindow)...)
	list = append(list, check.Positive("max_output_tokens", m.MaxOutputTokens)...)
	if m.ContextWindow != nil && m.MaxOutputTokens != nil && *m.MaxOutputTokens > *m.ContextWindow && *m.ContextWindow > 0 {
		list = append(list, diag.New(diag.InvalidValue, "max_output_tokens",
			"max_output_tokens is %d, more than the context window of %d", *m.MaxOutputTokens, *m.ContextWindow))
	}
	if m.Modalities != nil {
		list = append(list, checkModalities("modalities.input", m.Modalities.Input)...)
		list = append(list, checkModalities("modalities.output", m.Modalities.Output)...)
	}
	if m.KnowledgeCutoff != "" && !validCutoff(m.KnowledgeCutoff) {
		list = append(list, diag.New(diag.InvalidValue, "knowledge_cutoff",
			"knowledge_cutoff is %q; it must be a date written YYYY-MM or YYYY-MM-DD", m.KnowledgeCutoff))
	}
	list = append(list, checkChoice("reasoning_tags", m.ReasoningTags, ReadTags, KeepTags)...)
	list = append(list, m.validateOptions()...)
	return append(list, checkPart("pricing", m.Pricing)...)
}

// Validate checks the record by itself.
func (p *Pricing) Validate() diag.List {
	var list diag.List
	notBelowZero := func(path string, v float64) {
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			list = append(list, diag.New(diag.InvalidValue, path, "%s is %v; it must be 0 or more", path, v))
		}
	}
	notBelowZero("input_per_million", p.InputPerMillion)
	notBelowZero("output_per_million", p.OutputPerMillion)
	if p.CachedInputPerMillion != nil {
		notBelowZero("cached_input_per_million", *p.CachedInputPerMillion)
	}
	return list
}

func validCutoff(s string) bool {
	for _, layout := range []string{"2006-01", "2006-01-02"} {
		if _, err := time.Parse(layout, s); err == nil {
			return true
		}
	}
	return false
}

func checkModalities(path string, list []Modality) diag.List {
	var out diag.List
	for i, m := range list {
		switch m {
		case ModalityText, ModalityImage, ModalityAudio, ModalityVideo, ModalityPDF:
		default:
			out = append(out, diag.New(diag.InvalidValue, diag.Index(path, i),
				"modality %q is unknown; allowed are text, image, audio, video and pdf", m))
			continue
		}
		if slices.Contains(list[:i], m) {
			out = append(out, diag.New(diag.InvalidValue, diag.Index(path, i), "modality %q is listed twice", m))
		}
	}
	return out
}
