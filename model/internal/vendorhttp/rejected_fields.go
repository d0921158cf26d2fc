package vendorhttp

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/agentruntime/agentruntime/model"
)

// FieldError is implemented by the cause of a refusal that names the rejected field.
type FieldError interface {
	error
	RejectedField() string
}

// optionalField is a field that a request does not need.
type optionalField struct {
	// name is the field's name in server errors.
	name string
	// paths are the places of the field.
	paths []string
	// further are locations where the field is kept unless a configuration omits it.
	further []string
	// renamed is the name of the field on other servers; empty for none.
	renamed string
	// fixed is set for fields that are sent only because a configuration sets them. They are never
	// dropped.
	fixed bool
}

// optionalFields are the fields that a dialect may lack. Those that are not fixed are omitted once
// a server has rejected them.
var optionalFields = []optionalField{
	{name: "stream_options", paths: []string{"stream_options"}},
	{name: "prompt_cache_key", paths: []string{"prompt_cache_key"}},
	{name: "store", paths: []string{"store"}},
	{name: "strict", paths: []string{"tools.strict", "tools.function.strict"}, further: []string{"response_format.json_schema.strict", "text.format.strict"}},
	{name: "max_completion_tokens", paths: []string{"max_completion_tokens"}, renamed: "max_tokens"},
	{name: "max_tokens", paths: []string{"max_completion_tokens"}, renamed: "max_completion_tokens"},
	{name: "extra_content", paths: []string{"messages.tool_calls.extra_content"}},
	{name: "reasoning_content", paths: []string{"messages.reasoning_content"}},
	{name: "reasoning", paths: []string{"messages.reasoning"}},
	{name: "reasoning_text", paths: []string{"messages.reasoning_text"}},
	{name: "reasoning_opaque", paths: []string{"messages.reasoning_opaque"}},
	{name: "reasoning_details", paths: []string{"messages.reasoning_details"}},
	{name: "thinking_blocks", paths: []string{"messages.thinking_blocks"}},
	{name: "provider_specific_fields", paths: []string{"messages.provider_specific_fields", "messages.tool_calls.provider_specific_fields"}},
	{name: "cache_control", paths: []string{"system.cache_control", "tools.cache_control", "messages.content.cache_control"}},
	{name: "function_call.id", paths: []string{"contents.parts.functionCall.id"}},
	{name: "function_response.id", paths: []string{"contents.parts.functionResponse.id"}},
	{name: "function_response.parts", paths: []string{"contents.parts.functionResponse.parts"}},
	{name: "thinking_config.thinkingLevel", paths: []string{"generationConfig.thinkingConfig.thinkingLevel"}},
	{name: "thinking_config.thinkingBudget", paths: []string{"generationConfig.thinkingConfig.thinkingBudget"}},
	{name: "thinking_config.includeThoughts", paths: []string{"generationConfig.thinkingConfig.includeThoughts"}},
	{name: "generation_config.thinkingConfig", paths: []string{"generationConfig.thinkingConfig"}},
	{name: "parallel_tool_calls", paths: []string{"parallel_tool_calls"}, fixed: true},
	{name: "seed", paths: []string{"seed", "generationConfig.seed"}, fixed: true},
	{name: "service_tier", paths: []string{"service_tier"}, fixed: true},
	{name: "verbosity", paths: []string{"verbosity", "text.verbosity"}, fixed: true},
}

// findOptional returns the field with a name, or nil.
func findOptional(name string) *optionalField {
	for i := range optionalFields {
		if optionalFields[i].name == name {
			return &optionalFields[i]
		}
	}
	return nil
}

func (f *optionalField) leaveOut(e *bodyEdit) {
	if f.renamed != "" {
		e.renameMember(f.paths[0], f.renamed)
		return
	}
	for _, path := range f.paths {
		e.omitPath(path)
	}
}

// unsupported matches errors about fields that a server or model does not support, as opposed to
// values out of range.
var unsupported = regexp.MustCompile(`(?i)not permitted|unknown|unrecognized|unsupported|not support|unexpected|extra[ _](inputs|fields|forbidden)|additional propert|not recogni[sz]ed|not allowed|deprecated|only the default`)

// SaysUnsupported reports whether an error rejects a field as not supported.
func SaysUnsupported(text string) bool { return unsupported.MatchString(text) }

// fixedValue matches errors about a field that has only one valid value for the model, such as
// Kimi's: "invalid temperature: only 1 is allowed for this model".
var fixedValue = regexp.MustCompile(`(?i)only (the value )?[\d.]+ is (allowed|supported|accepted|valid)|(must|may only|can only|has to|needs to) be (exactly |equal to |set to )?\d+(\.\d+)?([.,;)'"]*$|[.,;)'"]*\s+(when|for|with|if|in|unless|on)\b)`)

// SaysFixed reports whether an error rejects any other value of a field.
func SaysFixed(text string) bool { return SaysUnsupported(text) || fixedValue.MatchString(text) }

// wrongValue matches errors about a field that the server knows but that is missing or has an
// invalid value.
var wrongValue = regexp.MustCompile(`(?i)\b(is |are )?(missing|required)\b|must be (provided|passed|present|set)|too (large|small|long|short|many)|at (most|least)|exceed|out of range|(less|greater) than`)

// isBlamed reports whether a refusal is about the field.
func (f *optionalField) isBlamed(failure *model.Error) bool {
	unknown := SaysUnsupported(failure.Message) || f.renamed != "" && containsWord(failure.Message, f.renamed)
	if f.fixed || f.name == "max_tokens" && !unknown || wrongValue.MatchString(failure.Message) && !unknown {
		return false
	}
	if named, ok := errors.AsType[FieldError](failure.Err); ok {
		if field := named.RejectedField(); field != "" {
			return containsWord(field, f.name)
		}
	}
	return containsWord(failure.Message, f.name) || containsWord(SnakeCase(failure.Message), f.name)
}

var camelHump = regexp.MustCompile(`([a-z0-9])([A-Z])`)

// SnakeCase returns a text with names such as streamOptions in the form stream_options. Servers in Java and
// Go name rejected fields as their code does.
func SnakeCase(text string) string {
	return strings.ToLower(camelHump.ReplaceAllString(text, "${1}_$2"))
}

// containsWord reports whether text contains name outside of a longer name.
func containsWord(text, name string) bool {
	for {
		before, after, found := strings.Cut(text, name)
		if !found {
			return false
		}
		if !endsWord(before, len(before)-1) && !endsWord(after, 0) {
			return true
		}
		text = after
	}
}

func endsWord(text string, at int) bool {
	if at < 0 || at >= len(text) {
		return false
	}
	c := text[at]
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c|' ' && c|' ' <= 'z'
}

// rejectedFields are the fields that the server of one provider was found to reject. It is safe for
// concurrent use.
type rejectedFields struct {
	mu    sync.Mutex
	names atomic.Pointer[[]string]
	// renamed are the rejected names of renamed fields, by model: the models behind a gateway differ.
	renamed sync.Map
}

// processFields holds the fields by API.Key. They survive a reload.
var processFields sync.Map // of string to *rejectedFields

func rejectedFieldsOf(key string) *rejectedFields {
	known, _ := processFields.LoadOrStore(key, &rejectedFields{})
	return known.(*rejectedFields)
}

// list returns the names in the order of rejection.
func (r *rejectedFields) list() []string {
	if names := r.names.Load(); names != nil {
		return slices.Clone(*names)
	}
	return nil
}

// learn adds names that were rejected for a model and returns the new ones.
func (r *rejectedFields) learn(model string, names []string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, name := range names {
		if f := findOptional(name); f != nil && f.renamed != "" {
			r.renamed.Store(model, name)
		}
	}
	known := r.list()
	fresh := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(known, n) })
	if len(fresh) > 0 {
		known = append(known, fresh...)
		r.names.Store(&known)
	}
	return fresh
}

func leaveOut(e *bodyEdit, names []string) {
	for _, name := range names {
		if f := findOptional(name); f != nil {
			f.leaveOut(e)
		}
	}
}
