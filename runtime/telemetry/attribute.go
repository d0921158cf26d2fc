package telemetry

import (
	"github.com/agentruntime/agentruntime/model"
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/trace"
)

// The attributes that have no name in the conventions.
const (
	keyTurnID          = attribute.Key("agentruntime.turn.id")
	keyParentTurnID    = attribute.Key("agentruntime.turn.parent_id")
	keyResumed         = attribute.Key("agentruntime.turn.resumed")
	keyTurnStatus      = attribute.Key("agentruntime.turn.status")
	keyTermination     = attribute.Key("agentruntime.turn.termination.type")
	keyCode            = attribute.Key("agentruntime.turn.termination.code")
	keySteps           = attribute.Key("agentruntime.turn.steps")
	keyRevision        = attribute.Key("agentruntime.revision")
	keyStep            = attribute.Key("agentruntime.step")
	keyModelID         = attribute.Key("agentruntime.model.id")
	keyRetries         = attribute.Key("agentruntime.model.retries")
	keyRetryClass      = attribute.Key("agentruntime.retry.class")
	keyRetryPlan       = attribute.Key("agentruntime.retry.plan")
	keyRetryAttempt    = attribute.Key("agentruntime.retry.attempt")
	keyRetryWait       = attribute.Key("agentruntime.retry.wait")
	keyCost            = attribute.Key("agentruntime.usage.cost")
	keyCurrency        = attribute.Key("agentruntime.usage.currency")
	keyToolEffect      = attribute.Key("agentruntime.tool.effect")
	keyToolSource      = attribute.Key("agentruntime.tool.source")
	keyToolOutcome     = attribute.Key("agentruntime.tool.outcome")
	keyTenant          = attribute.Key("tenant")
	keyContentCut      = attribute.Key("agentruntime.content.truncated")
	eventRetry         = "agentruntime.retry"
	eventReset         = "agentruntime.stream_reset"
	eventHandoff       = "agentruntime.hand_off"
	stepSpan           = "step"
	errorCanceled      = "cancelled"
	errorTool          = "tool_error"
	defaultToolType    = "function"
	toolSpanPrefix     = "execute_tool "
	turnSpanPrefix     = "invoke_agent "
	workflowSpanPrefix = "invoke_workflow "
	modelSpanPrefix    = "chat "
)

// starts are the start options of spans of the same agent, model or tool. They hold the attributes
// that samplers use.
type starts struct {
	turns  cache[turnStart, start]
	steps  cache[stepStart, start]
	models cache[modelStart, start]
	tools  cache[toolStart, start]
}

// start holds the name and start options of a span.
type start struct {
	name    string
	options []trace.SpanStartOption
}

type turnStart struct {
	agent, description, provider, model string
}

type stepStart struct {
	agent  string
	number int
}

type modelStart struct {
	agent, provider, model string
}

type toolStart struct {
	agent, name, kind, effect, source string
}

func newStart(name string, kind trace.SpanKind, attributes ...attribute.KeyValue) *start {
	attributes = dropEmpty(attributes)
	return &start{name: name, options: []trace.SpanStartOption{
		trace.WithSpanKind(kind), trace.WithAttributes(attributes...),
	}}
}

func newTurnStart(k turnStart) *start {
	return newStart(turnSpanPrefix+k.agent, trace.SpanKindInternal,
		semconv.GenAIOperationNameInvokeAgent, semconv.GenAIAgentID(k.agent), semconv.GenAIAgentName(k.agent),
		semconv.GenAIAgentDescription(k.description), providerName(k.provider), semconv.GenAIRequestModel(k.model))
}

func newStepStart(k stepStart) *start {
	return newStart(stepSpan, trace.SpanKindInternal,
		keyStep.Int(k.number), semconv.GenAIAgentID(k.agent), semconv.GenAIAgentName(k.agent))
}

func newModelStart(k modelStart) *start {
	return newStart(modelSpanPrefix+k.model, trace.SpanKindClient,
		semconv.GenAIOperationNameChat, providerName(k.provider), semconv.GenAIRequestModel(k.model),
		semconv.GenAIAgentID(k.agent), semconv.GenAIAgentName(k.agent),
		semconv.GenAIRequestStream(true))
}

func newToolStart(k toolStart) *start {
	return newStart(toolSpanPrefix+k.name, trace.SpanKindInternal,
		semconv.GenAIOperationNameExecuteTool, semconv.GenAIToolName(k.name), semconv.GenAIToolType(k.kind),
		semconv.GenAIAgentID(k.agent), semconv.GenAIAgentName(k.agent),
		keyToolEffect.String(k.effect), keyToolSource.String(k.source))
}

// dropEmpty returns the attributes without those that have an empty text.
func dropEmpty(attributes []attribute.KeyValue) []attribute.KeyValue {
	kept := attributes[:0]
	for _, a := range attributes {
		if a.Value.Type() != attribute.STRING || a.Value.AsString() != "" {
			kept = append(kept, a)
		}
	}
	return kept
}

// providerName returns a provider's name in the conventions, which have their own names for some
// vendors.
func providerName(provider string) attribute.KeyValue {
	switch provider {
	case "google":
		return semconv.GenAIProviderNameGCPGemini
	case "azure-openai":
		return semconv.GenAIProviderNameAzureAIOpenAI
	case "bedrock":
		return semconv.GenAIProviderNameAWSBedrock
	case "vertex":
		return semconv.GenAIProviderNameGCPVertexAI
	default:
		return semconv.GenAIProviderNameKey.String(provider)
	}
}

// The reasons for the end of an answer, as named by the conventions.
var finishReasons = map[model.FinishReason]attribute.KeyValue{
	model.FinishStop:          semconv.GenAIResponseFinishReasons("stop"),
	model.FinishToolCalls:     semconv.GenAIResponseFinishReasons("tool_call"),
	model.FinishMaxTokens:     semconv.GenAIResponseFinishReasons("length"),
	model.FinishContentFilter: semconv.GenAIResponseFinishReasons("content_filter"),
}
