package a2a_test

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/testkit/a2asdk"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/server"
	a2aserver "github.com/agentruntime/agentruntime/server/a2a"
	"github.com/agentruntime/agentruntime/server/auth"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/webhook"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
	"github.com/agentruntime/agentruntime/tools"
)

// clerk is a model that does what the first word of a message says:
//
//	echo TEXT       says TEXT
//	stream N        says N chunks "0;1;…"
//	hold N          says N chunks, and no more until it is released
//	ask TEXT        calls a tool that somebody must answer
//	authorize TEXT  calls one that somebody must authorize
//	fail            fails
type clerk struct {
	mu   sync.Mutex
	held map[string]*hold // by the message that asked for it
}

// hold is an answer that stands still.
type hold struct {
	begun, released chan struct{}
	once            [2]sync.Once
}

func (c *clerk) hold(message string) *hold {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok := c.held[message]
	if !ok {
		h = &hold{begun: make(chan struct{}), released: make(chan struct{})}
		if c.held == nil {
			c.held = make(map[string]*hold)
		}
		c.held[message] = h
	}
	return h
}

func (h *hold) begin()   { h.once[0].Do(func() { close(h.begun) }) }
func (h *hold) release() { h.once[1].Do(func() { close(h.released) }) }

// awaitHold waits until the clerk stands still over a message.
func (c *clerk) awaitHold(t *testing.T, message string) {
	t.Helper()
	select {
	case <-c.hold(message).begun:
	case <-t.Context().Done():
		t.Fatalf("nobody works on %q", message)
	}
}

// Stream answers the latest message as it asks.
func (c *clerk) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		for ev, err := range c.answer(ctx, &req.Messages[len(req.Messages)-1]) {
			if !yield(ev, err) || err != nil {
				return
			}
			if ev.Type == model.EventToolCallEnd {
				yield(model.Event{Type: model.EventFinish, Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 1, Output: 1}}, nil)
				return
			}
		}
		yield(model.Event{Type: model.EventFinish, Reason: model.FinishStop, Usage: &model.Usage{Input: 1, Output: 1}}, nil)
	}
}

// answer returns the events of an answer without the last.
func (c *clerk) answer(ctx context.Context, asked *model.Message) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		says := func(text string) bool { return yield(model.Event{Type: model.EventText, Delta: text}, nil) }
		if asked.Role != model.RoleUser {
			says("you said " + asked.Parts[0].ToolResult.Content[0].Text)
			return
		}
		text := asked.Text()
		word, rest, _ := strings.Cut(text, " ")
		switch word {
		case "stream", "hold":
			first, _, _ := strings.Cut(rest, " ")
			count, _ := strconv.Atoi(first)
			for i := range count {
				if !says(fmt.Sprintf("%d;", i)) {
					return
				}
			}
			if word == "hold" {
				h := c.hold(text)
				h.begin()
				select {
				case <-h.released:
				case <-ctx.Done():
					yield(model.Event{}, model.AsError(ctx.Err()))
				}
			}
		case "ask", "authorize":
			arguments, _ := json.Marshal(map[string]string{"question": rest})
			_ = yield(model.Event{Type: model.EventToolCallStart, ID: "call", Name: word}, nil) &&
				yield(model.Event{Type: model.EventToolCallEnd, Delta: string(arguments)}, nil)
		case "files":
			for _, part := range asked.Parts {
				if part.Blob != nil && !says(fmt.Sprintf("%s %s %x\n", part.Blob.Name, part.Blob.MediaType, part.Blob.Data)) {
					return
				}
			}
		case "fail":
			yield(model.Event{}, &model.Error{Class: model.InvalidRequest, Message: "the vendor's secret reason"})
		default:
			says(rest)
		}
	}
}

// counter is a plugin whose tools are answered by a person.
type counter struct{}

// Descriptor describes the tool.
func (counter) Descriptor() plugins.Descriptor { return plugins.Descriptor{Summary: "asks people"} }

// Register lets every call wait for its answer, which is its result.
func (counter) Register(r *plugins.Registrar) error {
	r.ToolGate(plugins.GateFunc(func(_ context.Context, p *plugins.PhaseContext) (plugins.Decision, error) {
		var asked struct {
			Question string `json:"question"`
		}
		if err := json.Unmarshal(p.Call.Arguments, &asked); err != nil {
			return plugins.Decision{}, err
		}
		request := &interaction.Request{
			ID: p.Call.Name + "_" + p.Call.ID, Message: asked.Question,
			ResponseSchema: json.RawMessage(`{"type":"string"}`), Mode: interaction.UseDecisionAsToolResult,
		}
		if p.Call.Name == "authorize" {
			request.Action = "auth:sign_in"
		}
		return plugins.Decision{Kind: plugins.Suspend, Interaction: request}, nil
	}))
	return nil
}

// unanswered is a tool whose calls the counter answers.
type unanswered struct{}

// Descriptor describes the tool.
func (unanswered) Descriptor() tools.Descriptor {
	return tools.Descriptor{Description: "asks a person"}
}

// Call is not reached.
func (unanswered) Call(context.Context, *tools.Call) (tools.Result, error) {
	return tools.TextResult("nobody was asked"), nil
}

// The keys of two principals of the office.
const (
	aliceKey = "ark_alice"
	bobKey   = "ark_bob"
)

// office is a server with the clerk as its only agent.
type office struct {
	*clerk
	service *service.Service
	url     string
	// signer signs the cards.
	signer *a2aserver.Signer
}

// openOffice serves until the test ends.
func openOffice(t *testing.T) *office {
	t.Helper()
	o := &office{clerk: new(clerk)}
	rt, err := builder.New().WithProvider("office", o.clerk).
		WithModel(spec.Model{ID: "clerk", ProviderID: "office", UpstreamModel: "clerk"}).
		WithTool("ask", unanswered{}).WithTool("authorize", unanswered{}).WithPlugin("counter", counter{}).
		WithAgentSpec(spec.Agent{ID: "clerk", ModelID: "clerk", PluginIDs: []string{"counter"}, Description: "Does what the first word says."}).Build()
	if err != nil {
		t.Fatal(err)
	}
	var keys []auth.Key
	for subject, key := range map[string]string{"alice": aliceKey, "bob": bobKey} {
		keys = append(keys, auth.Key{Hash: auth.HashKey(key), Principal: &server.Principal{
			Caller: service.Caller{Tenant: "acme", Subject: subject}, KeyID: subject,
		}})
	}
	authenticator := auth.NewKeys(keys, nil)
	s, err := server.New(server.Settings{Address: "127.0.0.1:0", Authenticator: authenticator})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	o.url = s.URL()
	kept := memory.New(store.Settings{})
	t.Cleanup(func() { _ = kept.Close() })
	push, err := a2aserver.NewPushSender(a2aserver.PushSettings{AllowPrivate: []string{"127.0.0.1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(push.Close)
	settings := service.Settings{
		Runtime: rt, Store: kept, Dispatcher: local.New(local.Settings{Concurrency: 16}),
		Webhooks: map[string]webhook.Sender{a2aserver.PushSurface: push},
	}
	o.service = service.New(settings)
	t.Cleanup(o.service.Close)
	o.signer = freshSigner(t)
	mounted, err := a2aserver.New(a2aserver.Settings{
		Service: o.service, PublicURL: o.url, V03: true, Signer: o.signer,
		GRPC: "127.0.0.1:0", Authenticator: authenticator,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Mount(t.Context(), mounted); err != nil {
		t.Fatal(err)
	}
	o.serve(t, s)
	return o
}

// freshSigner signs with a key that nobody else has.
func freshSigner(t *testing.T) *a2aserver.Signer {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	s, err := a2aserver.NewSigner(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serve answers requests and works on turns until the test ends.
func (o *office) serve(t *testing.T, s *server.Server) {
	t.Helper()
	if err := o.service.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	serving, end := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(serving) }()
	t.Cleanup(func() {
		end()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := s.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// visitor is a client of an SDK at the office.
type visitor struct {
	*a2asdk.Client
	*office
	version   a2asdk.Version
	transport string
}

// forEachVisitor runs a test with the clients of both SDKs over both transports,
// each at an office of its own.
func forEachVisitor(t *testing.T, test func(t *testing.T, v visitor)) {
	t.Helper()
	a2asdk.ForEach(t, func(t *testing.T, version a2asdk.Version, transport string) {
		o := openOffice(t)
		test(t, visitor{o.client(t, version, transport, aliceKey), o, version, transport})
	})
}

func (o *office) client(t *testing.T, v a2asdk.Version, transport, key string) *a2asdk.Client {
	t.Helper()
	return a2asdk.NewClient(t, v, o.url+"/a2a/clerk", a2asdk.ClientOptions{Transport: transport, Headers: a2asdk.Bearer(key)})
}
