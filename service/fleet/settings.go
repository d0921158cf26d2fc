package fleet

import (
	"context"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
	"go.opentelemetry.io/otel/metric"
	"go.uber.org/zap"
)

// Settings configures a Fleet. All fields are required except Learn, Notify, Changed,
// MeterProvider, Logger and Clock.
type Settings struct {
	Store   store.Revisions
	Runtime *runtime.AgentRuntime
	// NewBuilder returns a builder with the program's own components.
	NewBuilder func() *builder.AgentRuntimeBuilder
	// Learn queries servers for their tools and peers for their agents.
	Learn func(context.Context, *builder.AgentRuntimeBuilder)
	// Variables returns a tenant's variables for listing the tools of servers; nil for none.
	Variables func(tenant string) tools.TenantSource
	// Config holds the options for reading documents, and Dir is the base of their relative paths.
	Config config.Options
	Dir    string
	// FromStore is set if the documents in the store define the runtime, rather than the files of
	// the process.
	FromStore bool
	// Notify notifies other processes of a new revision. Changed notifies this process that the
	// base or a tenant may have a new revision; it must not block.
	Notify, Changed func()
	// MeterProvider records the revision that the process runs; nil disables metrics.
	MeterProvider metric.MeterProvider
	// TenantCache is the number of tenants cached by a process unless tenants.cache of the
	// configuration sets it; 0 means 256.
	TenantCache int
	Logger      *zap.Logger
	Clock       func() time.Time

	_ struct{} // keyed literals only
}
