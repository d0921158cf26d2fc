package resolve

import (
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/model"
)

// RetryKey is the section that configures how model calls are retried.
const RetryKey = "retry"

// retrySchema is the JSON Schema of the section. Every field is optional.
const retrySchema = `{
  "type": "object",
  "description": "Retries of failed model calls, and how long a model may be silent.",
  "properties": {
    "max_retries": {"type": "integer", "minimum": 0, "maximum": 100, "default": 2, "description": "Maximum retries of a call, for any reason; 0 for none."},
    "backoff_base": {"type": "string", "pattern": "` + schema.DurationPattern + `", "default": "500ms", "description": "Longest wait before the first retry; it doubles up to 8s."},
    "backoff_base_ms": {"type": "integer", "minimum": 0, "maximum": 3600000, "description": "backoff_base in milliseconds."},
    "overloaded_backoff_base": {"type": "string", "pattern": "` + schema.DurationPattern + `", "default": "2s", "description": "Like backoff_base, when the provider is overloaded."},
    "overloaded_backoff_base_ms": {"type": "integer", "minimum": 0, "maximum": 3600000, "description": "overloaded_backoff_base in milliseconds."},
    "max_stream_retries": {"type": "integer", "minimum": 0, "maximum": 100, "default": 2, "description": "How many of these retries may continue an interrupted answer; 0 for none."},
    "stream_idle_timeout": {"type": "string", "pattern": "` + schema.DurationPattern + `", "default": "60s", "description": "How long a stream may be silent; 0 for unlimited. Doubled for thinking models."},
    "stream_idle_timeout_secs": {"type": "integer", "minimum": 0, "maximum": 86400, "description": "stream_idle_timeout in seconds."},
    "first_token_timeout": {"type": "string", "pattern": "` + schema.DurationPattern + `", "description": "How long a stream may be silent before its first token, for example while a local server reads a long prompt; 0 for unlimited. Default: stream_idle_timeout. Doubled for thinking models."}
  },
  "additionalProperties": false
}`

// retrySettings is the section as written. A duration may be written in two ways, as a Go duration
// and as a number of some unit.
type retrySettings struct {
	MaxRetries        *int    `json:"max_retries"`
	BackoffBase       *string `json:"backoff_base"`
	BackoffBaseMS     *int64  `json:"backoff_base_ms"`
	OverloadedBase    *string `json:"overloaded_backoff_base"`
	OverloadedBaseMS  *int64  `json:"overloaded_backoff_base_ms"`
	MaxStreamRetries  *int    `json:"max_stream_retries"`
	StreamIdle        *string `json:"stream_idle_timeout"`
	StreamIdleSeconds *int64  `json:"stream_idle_timeout_secs"`
	FirstToken        *string `json:"first_token_timeout"`
}

// calling configures model calls: their retries, which need the section, and how long a stream may
// be silent.
type calling struct {
	retry model.RetryPolicy
	silence
}

// silence is how long a stream may be silent after its first event and before it; 0 for no limit.
type silence struct{ idle, firstToken time.Duration }

// defaultCalling returns the settings of an agent without a section.
func defaultCalling() calling {
	return calling{silence: silence{idle: model.DefaultIdleTimeout, firstToken: model.DefaultIdleTimeout}}
}

// decodeRetry decodes the section.
func decodeRetry(raw json.RawMessage) (calling, diag.List) {
	if raw == nil {
		return defaultCalling(), nil
	}
	var s retrySettings
	if err := json.Unmarshal(raw, &s); err != nil {
		return calling{}, diag.List{diag.New(diag.InvalidPluginConfig, "", "the section does not decode: %v", err)}
	}
	var list diag.List
	span := func(field string, text *string, n *int64, unit, otherwise time.Duration) time.Duration {
		switch {
		case text != nil:
			d, err := time.ParseDuration(*text)
			if err != nil || d < 0 {
				list = append(list, diag.New(diag.InvalidPluginConfig, field,
					"section %q: %s is %q; it must be a duration such as 500ms or 2s", RetryKey, field, *text))
			}
			return d
		case n != nil:
			return time.Duration(*n) * unit
		default:
			return otherwise
		}
	}
	c := calling{
		retry: model.RetryPolicy{
			MaxRetries: model.DefaultMaxRetries, MaxStreamRetries: model.DefaultMaxStreamRetries,
			BackoffBase:    span("backoff_base", s.BackoffBase, s.BackoffBaseMS, time.Millisecond, model.DefaultBackoffBase),
			OverloadedBase: span("overloaded_backoff_base", s.OverloadedBase, s.OverloadedBaseMS, time.Millisecond, model.DefaultOverloadedBackoff),
		},
	}
	c.idle = span("stream_idle_timeout", s.StreamIdle, s.StreamIdleSeconds, time.Second, model.DefaultIdleTimeout)
	c.firstToken = span("first_token_timeout", s.FirstToken, nil, 0, c.idle)
	if s.MaxRetries != nil {
		c.retry.MaxRetries = *s.MaxRetries
	}
	if s.MaxStreamRetries != nil {
		c.retry.MaxStreamRetries = *s.MaxStreamRetries
	}
	return c, list
}
