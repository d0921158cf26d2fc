package agentruns

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/resolve"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/tools"
	clienttool "github.com/agentruntime/agentruntime/tools/client"
	"go.uber.org/zap"
)

const (
	// connectTimeout bounds connecting to an MCP server and listing its tools.
	connectTimeout = 15 * time.Second
	// peerTimeout is how long a called agent may take to reply.
	peerTimeout = 5 * time.Minute
)

// PeerCall is a message to an agent that a spec names by the address of its card.
type PeerCall struct {
	// CardURL is the address of the card. The caller must not reach private addresses for it unless
	// configured to.
	CardURL string
	// Headers are sent with every request.
	Headers map[string]string
	// ContextID is the conversation that the message belongs to; empty begins one.
	ContextID string
	// Message is the message to the agent.
	Message string
	// MessageID is the same for every repetition of a call.
	MessageID string
}

// MCPServer is an MCP server that a spec names.
type MCPServer struct {
	// Name prefixes the tools' ids, followed by an underscore. An id that is too long for models is
	// shortened after its first 40 characters.
	Name string
	// URL is the address of the server, over streamable HTTP. The caller must not reach private
	// addresses for it unless configured to.
	URL string
	// Headers are sent with every request.
	Headers map[string]string
	// Tools are the names of the tools to use; empty means all.
	Tools []string
}

// TurnToolsSettings configures the tools of turns.
type TurnToolsSettings struct {
	// CallPeer sends a message to an agent and returns the text of its reply; nil answers every
	// call with an error. It must be safe for concurrent use.
	CallPeer func(ctx context.Context, call PeerCall) (string, error)
	// ConnectMCP returns the tools of a server. They work until release is called, even if ctx has
	// ended; nil reaches no servers. It must be safe for concurrent use.
	ConnectMCP func(ctx context.Context, server MCPServer) (members []tools.Member, release func(), err error)
	// Logger logs unreachable servers; nil drops them.
	Logger *zap.Logger

	_ struct{} // keyed literals only
}

// TurnTools makes the tools that runs of this protocol bring along. It is safe for concurrent use.
type TurnTools struct{ settings TurnToolsSettings }

var _ service.TurnTools = (*TurnTools)(nil)

// NewTurnTools returns the value for ServiceSettings.TurnTools.
func NewTurnTools(s TurnToolsSettings) *TurnTools {
	if s.Logger == nil {
		s.Logger = zap.NewNop()
	}
	return &TurnTools{settings: s}
}

// Check reports errors in tool descriptions. It makes no requests.
func (t *TurnTools) Check(list []service.EphemeralTool) error {
	_, err := refsOf(list)
	return err
}

// refsOf reads the tool descriptions stored with a turn.
func refsOf(list []service.EphemeralTool) ([]toolRef, error) {
	raw := make([]json.RawMessage, len(list))
	for i := range list {
		raw[i] = list[i].Config
	}
	refs, err := readToolRefs(raw)
	if err != nil {
		return nil, err
	}
	for i := range refs {
		switch {
		case refs[i].Kind != list[i].Kind:
			return nil, newInvalid("tools[%d]: it is of kind %s, and described as one of kind %s", i, list[i].Kind, refs[i].Kind)
		case refs[i].Kind == kindMantyx, refs[i].Kind == kindPlugin:
			return nil, newInvalid("tools[%d]: a tool of the registry is not brought along", i)
		}
	}
	return refs, nil
}

// Make creates the tools. An unreachable server becomes one tool that reports this. The error is
// for an invalid description, or from ctx.
func (t *TurnTools) Make(ctx context.Context, list []service.EphemeralTool) ([]resolve.EphemeralTool, func(), error) {
	refs, err := refsOf(list)
	if err != nil {
		return nil, nil, err
	}
	servers := t.connectAll(ctx, refs)
	release := func() { t.closeAll(servers) }
	if err := ctx.Err(); err != nil {
		release()
		return nil, nil, err
	}
	return t.assembleTools(refs, servers), release, nil
}

// assembleTools returns the tools of all references. Tools with fixed ids come first, so that a
// server's tools cannot take their names.
func (t *TurnTools) assembleTools(refs []toolRef, servers map[string]*mcpServer) []resolve.EphemeralTool {
	var made []resolve.EphemeralTool
	for i := range refs {
		ref := &refs[i]
		if ref.Kind == kindA2A {
			made = append(made, resolve.EphemeralTool{ID: ref.Name, Tool: &peer{&t.settings, ref}})
		}
		for _, c := range ref.clientTools() {
			made = append(made, resolve.EphemeralTool{ID: c.id, Tool: clienttool.New(c.config)})
		}
	}
	taken := make(map[string]bool, len(made))
	for i := range made {
		taken[made[i].ID] = true
	}
	for i := range refs {
		if refs[i].Kind != kindMCP {
			continue
		}
		for _, tool := range servers[refs[i].Name].tools {
			if !taken[tool.ID] {
				taken[tool.ID] = true
				made = append(made, tool)
			}
		}
	}
	return made
}

// mcpServer is a tool server with its listed tools.
type mcpServer struct {
	tools   []resolve.EphemeralTool
	release func()
}

// connectAll connects to all servers of a spec concurrently and returns them by name.
func (t *TurnTools) connectAll(ctx context.Context, refs []toolRef) map[string]*mcpServer {
	servers := make(map[string]*mcpServer)
	var wait sync.WaitGroup
	for i := range refs {
		ref := &refs[i]
		if ref.Kind != kindMCP {
			continue
		}
		server := &mcpServer{release: func() {}}
		servers[ref.Name] = server
		wait.Go(func() { t.askServer(ctx, ref, server) })
	}
	wait.Wait()
	return servers
}

// closeAll closes the connections to all servers concurrently, since an unresponsive one may take
// a while.
func (t *TurnTools) closeAll(servers map[string]*mcpServer) {
	var wait sync.WaitGroup
	for name, server := range servers {
		wait.Go(func() {
			defer panics.Handle(func(p *panics.Error) {
				t.settings.Logger.Error("an MCP server cannot be left", zap.String("server", name), zap.Error(p))
			})
			server.release()
		})
	}
	wait.Wait()
}

// errNoMCP and errNoPeers mean that the program was built without this feature.
var (
	errNoMCP   = errors.New("this server reaches no MCP servers")
	errNoPeers = errors.New("this server calls no agents elsewhere")
)

// askServer lists the tools of one server within its timeout.
func (t *TurnTools) askServer(ctx context.Context, ref *toolRef, server *mcpServer) {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	members, release, err := t.reachPeer(ctx, ref)
	if release != nil {
		server.release = release
	}
	if err != nil {
		t.settings.Logger.Info("an MCP server of a run cannot be reached", zap.String("server", ref.Name), zap.Error(err), refusedAddress(err))
		server.tools = []resolve.EphemeralTool{unavailableTool(ref.Name, err)}
		return
	}
	for _, m := range members {
		server.tools = append(server.tools, resolve.EphemeralTool(m))
	}
}

// refusedAddress returns the address that a guard refused, for the log: the error, which clients
// and models see, does not contain it.
func refusedAddress(err error) zap.Field {
	if blocked, ok := errors.AsType[*netguard.BlockedError](err); ok {
		return zap.Stringer("address", blocked.Addr)
	}
	return zap.Skip()
}

func (t *TurnTools) reachPeer(ctx context.Context, ref *toolRef) (members []tools.Member, release func(), err error) {
	defer panics.Recover(&err)
	if t.settings.ConnectMCP == nil {
		return nil, nil, errNoMCP
	}
	return t.settings.ConnectMCP(ctx, MCPServer{Name: ref.Name, URL: ref.URL, Headers: ref.Headers, Tools: ref.ToolFilter})
}

// unavailableTool returns the only tool of an unreachable server: it lets the model explain that
// something is missing.
func unavailableTool(name string, err error) resolve.EphemeralTool {
	const suffix = "_unavailable"
	return resolve.EphemeralTool{ID: name[:min(len(name), maxToolID-len(suffix))] + suffix, Tool: &stub{server: name, err: err}}
}

// stub is the tool of an unreachable server.
type stub struct {
	server string
	err    error
}

// Descriptor tells the model that tools are missing.
func (s *stub) Descriptor() tools.Descriptor {
	return tools.Descriptor{Description: "The MCP server " + s.server + " cannot be reached, so none of its tools can be used. Calling this tool says why.", Effect: tools.Read}
}

// Call says why.
func (s *stub) Call(context.Context, *tools.Call) (tools.Result, error) {
	return tools.Result{}, fmt.Errorf("the MCP server %s cannot be reached: %w", s.server, s.err)
}

// peer is a tool that sends a message to a remote agent.
type peer struct {
	settings *TurnToolsSettings
	ref      *toolRef
}

// Descriptor describes the tool. The effect of a message on the agent is unknown, so it must not
// be repeated.
func (p *peer) Descriptor() tools.Descriptor {
	return tools.Descriptor{
		Description: cmp.Or(p.ref.Description, "Delegate a task to the "+p.ref.Name+" agent over A2A. Pass the full task as a single message."),
		Parameters:  messageParameters, Effect: tools.Once, Timeout: peerTimeout,
	}
}

// Call sends the message.
func (p *peer) Call(ctx context.Context, call *tools.Call) (tools.Result, error) {
	var in struct {
		Message string `json:"message"`
	}
	if err := json.Unmarshal(call.Arguments, &in); err != nil {
		return tools.Result{}, fmt.Errorf("read the message: %w", err)
	}
	if p.settings.CallPeer == nil {
		return tools.Result{}, errNoPeers
	}
	reply, err := p.settings.CallPeer(ctx, PeerCall{
		CardURL: p.ref.AgentCardURL, Headers: p.ref.Headers, ContextID: p.ref.ContextID, Message: in.Message, MessageID: call.IdempotencyKey,
	})
	if err != nil {
		p.settings.Logger.Info("an agent of a run cannot be reached", zap.String("agent", p.ref.Name), zap.Error(err), refusedAddress(err))
		return tools.Result{}, err
	}
	return tools.TextResult(reply), nil
}
