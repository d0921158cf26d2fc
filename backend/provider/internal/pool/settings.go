package pool

import (
	"log/slog"
	"time"

	"github.com/agentruntime/agentruntime/backend/provider/internal/hostservice"
	"google.golang.org/protobuf/types/known/structpb"
)

// Settings configures a pool.
type Settings struct {
	// Name is the provider's name, and Config its configuration.
	Name   string
	Config *structpb.Struct
	Logger *slog.Logger
	// Host serves the provider's callbacks.
	Host *hostservice.Service
	// Command starts a process; Dir is its directory, and Env its environment in addition to the
	// usual variables.
	Command []string
	Dir     string
	Env     map[string]string
	// Address is the address of a running provider, used instead of Command. HostAddress is where
	// Host listens for it; empty if it needs no tools.
	Address, HostAddress string

	// MinReady slots are filled initially; there are at most MaxReady.
	MinReady, MaxReady int
	// StartupTimeout limits a start, HealthInterval is the time between two health checks, and
	// DrainTimeout is how long Close waits for turns.
	StartupTimeout, HealthInterval, DrainTimeout time.Duration
	// NeverRestart leaves a slot empty after its process has ended.
	NeverRestart bool
}

const (
	// stopPatience is how long a process may take to stop when asked.
	stopPatience = 2 * time.Second
	// endPatience is how long turns may take to end when canceled.
	endPatience = 6 * time.Second
	// configureTimeout limits configuring a provider, callTimeout each other call to it.
	configureTimeout = 30 * time.Second
	callTimeout      = 30 * time.Second
	// healthTimeout limits a health check; maxUnhealthy consecutive failures replace the process.
	healthTimeout = 5 * time.Second
	maxUnhealthy  = 2
	// firstBackoff and lastBackoff are the shortest and longest pause before a slot starts
	// another process. A process that ran for steadyTime resets the pause.
	firstBackoff = 100 * time.Millisecond
	lastBackoff  = 30 * time.Second
	steadyTime   = 30 * time.Second
	// readyPoll is the interval for polling a provider that is not ready yet.
	readyPoll = 20 * time.Millisecond
	// maxSticky is the maximum number of remembered sessions.
	maxSticky = 20_000
	// protocolVersion is the version of the protocol.
	protocolVersion = 3
)
