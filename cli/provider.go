package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server/component"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

// The environment variables with which a host starts a provider.
const (
	socketVariable = "GESTALT_PLUGIN_SOCKET"
	parentVariable = "GESTALT_PLUGIN_PARENT_PID"
	hostVariable   = "GESTALT_AGENT_HOST_SOCKET"
	tokenVariable  = "GESTALT_AGENT_HOST_SOCKET_TOKEN" //nolint:gosec // the name of a variable
)

const (
	// parentInterval is how often a provider checks that its host is still running.
	parentInterval = time.Second
	// hostGrace is the time for running steps when the host stops the provider, before it kills the
	// provider.
	hostGrace = time.Second
)

func newProvider(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "provider COMMAND",
		Short: "Serve agents to a Gestalt host",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return command.Usagef(cmd, "a command is required") },
	}
	cmd.AddCommand(newProviderServe(p))
	return cmd
}

// providerOptions are the flags of provider serve.
type providerOptions struct {
	logFlags

	agent string
}

func newProviderServe(p *program) *cobra.Command {
	var o providerOptions
	cmd := &cobra.Command{
		Use:   "serve FILE…",
		Short: "Serve an agent to the host that started this process",
		Long: `provider serve serves agents to the Gestalt host that started it, over gRPC on the socket
in GESTALT_PLUGIN_SOCKET: the handshake, sessions, turns, their events and interactions.
Turns are kept in the store of the configuration. Unless that is the memory store, they
continue when the host starts the provider again. A turn has the tools of its agent and
those that the host grants, which are called at GESTALT_AGENT_HOST_SOCKET. The agent is
set by --agent or by config.agent in the host's configuration; it is optional if there is
only one.

The provider ends on SIGTERM and when the process in GESTALT_PLUGIN_PARENT_PID ends. It
does not serve HTTP.

Exit codes: 0 after a clean shutdown, 1 the configuration is invalid or the store cannot
be used, 2 usage or a file cannot be read.`,
		Args: command.Arguments(1, command.Unlimited),
		RunE: func(cmd *cobra.Command, files []string) error {
			return serveProvider(cmd.Context(), p, cmd, files, &o)
		},
	}
	cmd.Flags().StringVar(&o.agent, "agent", "", "use the agent with this `id`, unless the host names another one")
	o.addFlags(cmd)
	return cmd
}

func serveProvider(ctx context.Context, p *program, cmd *cobra.Command, files []string, o *providerOptions) error {
	socket := os.Getenv(socketVariable)
	if socket == "" {
		return command.Usagef(cmd, "%s is not set: a host of Gestalt starts this command", socketVariable)
	}
	if p.Provider == nil {
		return command.Fail(ctx, &p.Streams, command.Unredacted, errors.New("this program was built without the protocol of agent providers"))
	}
	l, err := p.open(files, &o.logFlags, newLogger)
	if err != nil {
		return err
	}
	defer l.close()
	l.file.Server.Listen = settings.ListenNone
	if l.file.Turns.GraceTime() > hostGrace {
		l.file.Turns.Grace = new(spec.Duration(hostGrace))
	}
	l.toolTime = app.StartupToolTime
	return p.withRuntime(ctx, l, "tracing is off", func(rt *runtime.AgentRuntime, seen *observed) error {
		k := &providerKeeper{program: p, loaded: l, seen: seen, runtime: rt}
		return p.complain(context.WithoutCancel(ctx), l, k.serve(ctx, socket, o.agent))
	})
}

// providerKeeper starts a provider's app once its host has configured it.
type providerKeeper struct {
	*program
	loaded   *loaded
	seen     *observed
	runtime  *runtime.AgentRuntime
	provider component.Provider
	// serving ends with the provider; running tracks its goroutines.
	serving context.Context
	running sync.WaitGroup
	// app is nil until it is started.
	app *app.App
}

// serve answers the host until ctx, or the host, ends.
func (k *providerKeeper) serve(ctx context.Context, socket, agent string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	k.serving = ctx
	var err error
	k.provider, err = k.Provider(component.ProviderSettings{
		Version: k.version(), Agent: agent, Durable: k.StoreDriver(k.loaded.file).OpenReadOnly != nil, Prepared: len(k.loaded.file.Workspaces.PreparedRoots) > 0,
		HostAddress: os.Getenv(hostVariable), HostToken: os.Getenv(tokenVariable), Start: k.start, Logger: k.loaded.logger.Named("provider"),
	})
	if err != nil {
		return err
	}
	listener, err := listenSocket(ctx, socket)
	if err != nil {
		return err
	}
	k.running.Go(func() { awaitParent(ctx, os.Getenv(parentVariable), cancel) })
	err = k.provider.Serve(ctx, listener)
	cancel()
	k.running.Wait()
	if k.app != nil {
		_ = k.app.Shutdown(ctx) // interrupted steps are run again
	}
	return errors.Join(err, k.provider.Close())
}

// start starts processing turns.
func (k *providerKeeper) start(ctx context.Context) (*service.Service, error) {
	parts := *k.program
	parts.TurnTools = func(*config.File, *zap.Logger) service.TurnTools { return k.provider.TurnTools() }
	k.app = parts.newApp(k.loaded, k.seen)
	if err := k.app.Start(ctx, k.runtime); err != nil {
		k.loaded.logger.Error("starting the provider failed", zap.Error(err))
		return nil, errors.New(k.loaded.file.Redact(err.Error()))
	}
	k.running.Go(func() { _ = k.app.Serve(k.serving) }) // without an address it ends with its context
	return k.app.Service(), nil
}

// listenSocket listens on a unix socket and replaces one left behind by an earlier provider.
func listenSocket(ctx context.Context, path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("replace the socket: %w", err)
		}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", socketVariable, err)
	}
	return listener, nil
}

// awaitParent stops the provider when the host's process has ended.
func awaitParent(ctx context.Context, text string, end context.CancelFunc) {
	pid, err := strconv.Atoi(text)
	if err != nil || pid <= 0 {
		return
	}
	tick := time.NewTicker(parentInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if process, err := os.FindProcess(pid); err != nil || errors.Is(process.Signal(syscall.Signal(0)), os.ErrProcessDone) {
			end()
			return
		}
	}
}
