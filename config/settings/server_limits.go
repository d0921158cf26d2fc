package settings

import (
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/spec"
)

// Defaults of ServerLimits: sizes in bytes.
const (
	DefaultMaxBodyBytes      = 16 << 20
	DefaultMaxHeaderBytes    = 64 << 10
	DefaultReadHeaderTimeout = 10 * time.Second
	DefaultReadTimeout       = time.Minute
	DefaultWriteTimeout      = 30 * time.Second
	DefaultIdleTimeout       = 2 * time.Minute
)

// ServerLimits limit the cost of one request.
type ServerLimits struct {
	MaxBodyBytes      *int           `json:"max_body_bytes,omitempty" min:"1" default:"16777216" doc:"Maximum size of a request body, in bytes."`
	MaxHeaderBytes    *int           `json:"max_header_bytes,omitempty" min:"1024" default:"65536" doc:"Maximum size of a request header, in bytes."`
	ReadHeaderTimeout *spec.Duration `json:"read_header_timeout,omitempty" default:"10s" doc:"Maximum time for a client to send its header."`
	ReadTimeout       *spec.Duration `json:"read_timeout,omitempty" default:"60s" doc:"Maximum time for a client to send its body."`
	WriteTimeout      *spec.Duration `json:"write_timeout,omitempty" default:"30s" doc:"Maximum time for a client to read one piece of a response. A whole response has no limit."`
	IdleTimeout       *spec.Duration `json:"idle_timeout,omitempty" default:"120s" doc:"Maximum idle time of a connection between requests."`
}

// ServerRate limits the requests of one key.
type ServerRate struct {
	PerSecond   float64 `json:"per_second,omitempty" min:"0" default:"0" doc:"Sustained requests per second. 0 means no limit."`
	Burst       int     `json:"burst,omitempty" min:"0" doc:"Maximum burst of requests. Defaults to per_second, at least 1."`
	Concurrency int     `json:"concurrency,omitempty" min:"0" default:"0" doc:"Maximum number of concurrent requests, including streams. 0 means no limit."`
}

// BodyLimit returns the size limit of a request body, in bytes.
func (l *ServerLimits) BodyLimit() int { return orDefault(l.MaxBodyBytes, DefaultMaxBodyBytes) }

// HeaderLimit returns the size limit of a request header, in bytes.
func (l *ServerLimits) HeaderLimit() int { return orDefault(l.MaxHeaderBytes, DefaultMaxHeaderBytes) }

// HeaderTime returns how long a client may take to send its header.
func (l *ServerLimits) HeaderTime() time.Duration {
	return orDefault(l.ReadHeaderTimeout, spec.Duration(DefaultReadHeaderTimeout)).Std()
}

// BodyTime returns how long a client may take to send its body.
func (l *ServerLimits) BodyTime() time.Duration {
	return orDefault(l.ReadTimeout, spec.Duration(DefaultReadTimeout)).Std()
}

// WriteTime returns how long a client may take to read one piece of a response.
func (l *ServerLimits) WriteTime() time.Duration {
	return orDefault(l.WriteTimeout, spec.Duration(DefaultWriteTimeout)).Std()
}

// IdleTime returns how long a connection may be idle between requests.
func (l *ServerLimits) IdleTime() time.Duration {
	return orDefault(l.IdleTimeout, spec.Duration(DefaultIdleTimeout)).Std()
}

// Validate checks the record by itself. Paths are relative to the limits.
func (l *ServerLimits) Validate() diag.List {
	list := check.Positive("max_body_bytes", l.MaxBodyBytes)
	list = append(list, check.Positive("max_header_bytes", l.MaxHeaderBytes)...)
	list = append(list, check.PositiveSpan("read_header_timeout", l.ReadHeaderTimeout)...)
	list = append(list, check.PositiveSpan("read_timeout", l.ReadTimeout)...)
	list = append(list, check.PositiveSpan("write_timeout", l.WriteTimeout)...)
	return append(list, check.PositiveSpan("idle_timeout", l.IdleTimeout)...)
}

// Validate checks the record by itself. Paths are relative to the rate.
func (r *ServerRate) Validate() diag.List {
	var list diag.List
	if r.PerSecond < 0 {
		list = append(list, diag.New(diag.InvalidValue, "per_second", "per_second is %v; it must be 0 or more", r.PerSecond))
	}
	list = append(list, check.NotNegative("burst", &r.Burst)...)
	if r.Burst > 0 && r.PerSecond == 0 {
		list = append(list, diag.New(diag.InvalidValue, "burst", "burst belongs to per_second, which is 0"))
	}
	return append(list, check.NotNegative("concurrency", &r.Concurrency)...)
}

func orDefault[T any](v *T, byDefault T) T {
	if v == nil {
		return byDefault
	}
	return *v
}
