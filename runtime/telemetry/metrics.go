package telemetry

import (
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// The metrics. The gen_ai metrics follow the semantic conventions for generative AI
// (open-telemetry/semantic-conventions-genai); the Go package of the conventions does not name
// all of them.
const (
	metricTokens        = "gen_ai.client.token.usage"
	metricModelDuration = "gen_ai.client.operation.duration"
	metricFirstChunk    = "gen_ai.client.operation.time_to_first_chunk"
	metricTurnDuration  = "gen_ai.invoke_agent.duration"
	metricToolDuration  = "gen_ai.execute_tool.duration"

	metricActive  = "agentruntime.turn.active"
	metricSteps   = "agentruntime.turn.steps"
	metricRetries = "agentruntime.model.retries"
	metricCost    = "agentruntime.model.cost"
	metricResolve = "agentruntime.resolve.duration"
)

// The bucket boundaries. The conventions prescribe the gen_ai ones.
var (
	tokenBuckets = []float64{
		1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864,
	}
	operationBuckets = []float64{
		0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
	}
	firstChunkBuckets = []float64{
		0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10,
	}
	turnBuckets = []float64{
		0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6,
	}
	stepBuckets    = []float64{1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64}
	resolveBuckets = []float64{
		0.000005, 0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.01, 0.1, 1,
	}
)

// metrics are the instruments, and the attributes they are used with.
type metrics struct {
	instruments
	caches
}

// instruments records the measurements.
type instruments struct {
	tokens        metric.Int64Histogram
	modelDuration metric.Float64Histogram
	firstChunk    metric.Float64Histogram
	turnDuration  metric.Float64Histogram
	toolDuration  metric.Float64Histogram
	active        metric.Int64UpDownCounter
	steps         metric.Int64Histogram
	retries       metric.Int64Counter
	cost          metric.Float64Counter
	resolve       metric.Float64Histogram
}

// caches keep the attribute sets of measurements by what they measure.
type caches struct {
	agents cache[agentKey, measured]
	turns  cache[turnKey, measured]
	models cache[modelKey, modelMeasured]
	tools  cache[toolKey, measured]
	again  cache[retryKey, measured]
	costs  cache[costKey, measured]
	plans  cache[resolveKey, measured]
	legacy cache[legacyToolKey, measured]
}

func newMetrics(meter metric.Meter) (*metrics, error) {
	m := &metrics{}
	var errs [10]error
	seconds := func(name, description string, buckets []float64) (metric.Float64Histogram, error) {
		return meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
			metric.WithExplicitBucketBoundaries(buckets...))
	}
	m.tokens, errs[0] = meter.Int64Histogram(metricTokens, metric.WithUnit("{token}"),
		metric.WithDescription("Number of input and output tokens used."), metric.WithExplicitBucketBoundaries(tokenBuckets...))
	m.modelDuration, errs[1] = seconds(metricModelDuration, "GenAI operation duration.", operationBuckets)
	m.firstChunk, errs[2] = seconds(metricFirstChunk, "Time to receive the first chunk of an answer.", firstChunkBuckets)
	m.turnDuration, errs[3] = seconds(metricTurnDuration, "The end-to-end duration of a turn.", turnBuckets)
	m.toolDuration, errs[4] = seconds(metricToolDuration, "The duration of a single tool execution.", operationBuckets)
	m.active, errs[5] = meter.Int64UpDownCounter(metricActive, metric.WithUnit("{turn}"),
		metric.WithDescription("Number of turns that are running."))
	m.steps, errs[6] = meter.Int64Histogram(metricSteps, metric.WithUnit("{step}"),
		metric.WithDescription("Number of steps of a turn."), metric.WithExplicitBucketBoundaries(stepBuckets...))
	m.retries, errs[7] = meter.Int64Counter(metricRetries, metric.WithUnit("{retry}"),
		metric.WithDescription("Number of repetitions of model calls."))
	m.cost, errs[8] = meter.Float64Counter(metricCost, metric.WithUnit("{currency}"),
		metric.WithDescription("What model calls cost, by the pricing of the models."))
	m.resolve, errs[9] = seconds(metricResolve, "The duration of resolving an agent.", resolveBuckets)
	return m, errors.Join(errs[:]...)
}

// measured holds the attributes of one measurement for both kinds of instruments. They are kept as
// slices because building one per measurement would create garbage.
type measured struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

func newMeasured(attributes ...attribute.KeyValue) *measured {
	option := metric.WithAttributeSet(attribute.NewSet(dropEmpty(attributes)...))
	return &measured{add: []metric.AddOption{option}, record: []metric.RecordOption{option}}
}

type agentKey struct{ agent, tenant string }

func newAgentMeasured(k agentKey) *measured {
	return newMeasured(semconv.GenAIAgentName(k.agent), keyTenant.String(k.tenant))
}

type turnKey struct{ agent, status, failure, tenant string }

func newTurnMeasured(k turnKey) *measured {
	return newMeasured(semconv.GenAIAgentName(k.agent), keyTurnStatus.String(k.status),
		semconv.ErrorTypeKey.String(k.failure), keyTenant.String(k.tenant))
}

type toolKey struct{ agent, name, kind, outcome, failure, tenant string }

func newToolMeasured(k toolKey) *measured {
	return newMeasured(semconv.GenAIAgentName(k.agent), semconv.GenAIToolName(k.name), semconv.GenAIToolType(k.kind),
		keyToolOutcome.String(k.outcome), semconv.ErrorTypeKey.String(k.failure), keyTenant.String(k.tenant))
}

type legacyToolKey struct{ agent, name, failure string }

func newLegacyToolMeasured(k legacyToolKey) *measured {
	return newMeasured(semconv.GenAIOperationNameExecuteTool, semconv.GenAIProviderNameKey.String("gestalt"), semconv.GenAIToolName(k.name),
		semconv.GenAIToolType("extension"), semconv.GenAIAgentName(k.agent), semconv.ErrorTypeKey.String(k.failure))
}

type modelKey struct{ agent, provider, model, served, failure, tenant string }

// modelMeasured holds the attributes of a model call's metrics: the duration is measured by
// provider, the tokens by agent and tenant.
type modelMeasured struct {
	call, input, output measured
}

func newModelMeasured(k modelKey) *modelMeasured {
	with := func(more ...attribute.KeyValue) measured {
		return *newMeasured(append(more, semconv.GenAIOperationNameChat, providerName(k.provider),
			semconv.GenAIRequestModel(k.model), semconv.GenAIResponseModel(k.served))...)
	}
	return &modelMeasured{
		call:   with(semconv.ErrorTypeKey.String(k.failure)),
		input:  with(semconv.GenAITokenTypeInput, semconv.GenAIAgentName(k.agent), keyTenant.String(k.tenant)),
		output: with(semconv.GenAITokenTypeOutput, semconv.GenAIAgentName(k.agent), keyTenant.String(k.tenant)),
	}
}

type retryKey struct{ provider, model, class, plan string }

func newRetryMeasured(k retryKey) *measured {
	return newMeasured(providerName(k.provider), semconv.GenAIRequestModel(k.model), keyRetryClass.String(k.class),
		keyRetryPlan.String(k.plan))
}

type costKey struct{ agent, model, currency, tenant string }

func newCostMeasured(k costKey) *measured {
	return newMeasured(semconv.GenAIAgentName(k.agent), keyModelID.String(k.model), keyCurrency.String(k.currency),
		keyTenant.String(k.tenant))
}

type resolveKey struct{ agent, failure string }

func newResolveMeasured(k resolveKey) *measured {
	return newMeasured(semconv.GenAIAgentName(k.agent), semconv.ErrorTypeKey.String(k.failure))
}
