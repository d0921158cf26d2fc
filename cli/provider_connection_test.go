//go:build unix

package cli

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	pb "github.com/agentruntime/agentruntime/internal/providerproto"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// serveConnected is the service and model that the host's connections are for. It repeats the
// received credential, as bad servers do.
func serveConnected(w http.ResponseWriter, r *http.Request) {
	credential := r.Header.Get("Authorization")
	if !strings.HasPrefix(credential, "Bearer secret-of-") {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	switch r.URL.Path {
	case "/customers":
		fmt.Fprintf(w, "hello %s", credential)
	case "/models/chat/completions":
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello from the vendor."},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	default:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error":{"message":"no such path for %s"}}`, credential)
	}
}

// ResolveConnection returns a connection that turns may use.
func (h *providerHost) ResolveConnection(ctx context.Context, req *pb.ResolveAgentConnectionRequest) (*pb.ResolvedAgentConnection, error) {
	if err := h.check(ctx, req.GetTurnId(), req.GetRunGrant()); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.resolved = append(h.resolved, req.GetSessionId()+"/"+req.GetTurnId()+"/"+req.GetConnection())
	found, ok := h.served[req.GetConnection()]
	if !ok {
		return nil, status.Error(codes.NotFound, "agent resolve connection: it is not declared")
	}
	return found, nil
}

// connect lets turns resolve a connection, whose credential is named after it.
func (h *providerHost) connect(name, secret string, params map[string]string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.served == nil {
		h.served = make(map[string]*pb.ResolvedAgentConnection)
	}
	h.served[name] = &pb.ResolvedAgentConnection{
		ConnectionId: "c-" + name, Connection: name, Mode: "platform", Headers: map[string]string{"Authorization": "Bearer " + secret}, Params: params,
		ExpiresAt: timestamppb.New(time.Now().Add(time.Hour)),
	}
}

// asked returns the connections requested by turns and clears the list.
func (h *providerHost) asked() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	list := h.resolved
	h.resolved = nil
	return list
}

func TestAProviderUsesConnectionsOfItsHost(t *testing.T) {
	t.Parallel()
	h := newProviderHost(t)
	h.session("s1")
	turn := func(id, text, model string) *pb.CreateAgentProviderTurnRequest {
		req := turnOf("s1", id, text)
		req.ToolSource, req.Model = 0, model
		return req
	}
	if got := h.ask(t.Context(), turn("t0", "hi", ""), succeeded); got.GetOutputText() != "Hello from the clerk." || len(h.asked()) != 0 || h.pages != 0 {
		t.Errorf("a turn that needs no connection is %v", got)
	}
	h.connect("crm", "secret-of-the-crm", nil)
	h.connect("model", "secret-of-the-vendor", map[string]string{"baseUrl": h.crm + "/models"})
	if got := h.ask(t.Context(), turn("t1", "customers", ""), succeeded); got.GetOutputText() != "The customer is Ann." {
		t.Errorf("a tool with a connection: %v", got)
	}
	if got := h.asked(); !slices.Equal(got, []string{"s1/t1/crm"}) || h.pages != 0 {
		t.Errorf("the host was asked for %v, and %d pages", got, h.pages)
	}
	if got := h.ask(t.Context(), turn("t2", "hi", "granted"), succeeded); got.GetOutputText() != "Hello from the vendor." {
		t.Errorf("a model with a connection: %v", got)
	}
	if got := h.asked(); !slices.Equal(got, []string{"s1/t2/model"}) {
		t.Errorf("the host was asked for %v", got)
	}
	failed := pb.AgentExecutionStatus_AGENT_EXECUTION_STATUS_FAILED
	h.connect("model", "secret-of-the-vendor", map[string]string{"baseUrl": h.crm + "/elsewhere"})
	if got := h.ask(t.Context(), turn("t3", "hi", "granted"), failed); !strings.Contains(got.GetStatusMessage(), "no such path") {
		t.Errorf("a model that repeats its credential: %v", got)
	}
	h.connect("model", "secret-of-the-vendor", map[string]string{"baseUrl": "file:///etc/passwd"})
	if got := h.ask(t.Context(), turn("t4", "hi", "granted"), failed); !strings.Contains(got.GetStatusMessage(), "baseUrl") {
		t.Errorf("a connection with a bad address: %v", got)
	}
	h.mu.Lock()
	h.served = nil
	h.mu.Unlock()
	if got := h.ask(t.Context(), turn("t5", "customers", ""), succeeded); got.GetOutputText() != "I am not let in." {
		t.Errorf("a tool without its connection: %v", got)
	}
	without := turn("t6", "customers", "")
	without.RunGrant = ""
	if got := h.ask(t.Context(), without, succeeded); got.GetOutputText() != "I am not let in." {
		t.Errorf("a turn without a grant: %v", got)
	}
	h.checkNoSecret()
}

// checkNoSecret searches all data left by turns for connection credentials.
func (h *providerHost) checkNoSecret() {
	h.t.Helper()
	said := []string{h.said.String()}
	for _, id := range []string{"t1", "t2", "t3", "t4", "t5", "t6"} {
		events, err := h.ListTurnEvents(h.t.Context(), &pb.ListAgentProviderTurnEventsRequest{TurnId: id, Subject: ann})
		if err != nil {
			h.t.Fatal(err)
		}
		turn, err := h.GetTurn(h.t.Context(), &pb.GetAgentProviderTurnRequest{TurnId: id, Subject: ann})
		if err != nil {
			h.t.Fatal(err)
		}
		said = append(said, fmt.Sprint(events, turn))
	}
	files, err := filepath.Glob(filepath.Join(h.dir, "runtime.db*"))
	if err != nil {
		h.t.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			h.t.Fatal(err)
		}
		said = append(said, string(data))
	}
	for i, text := range said {
		if strings.Contains(text, "secret-of-") {
			h.t.Errorf("a credential is in %d of %d places", i, len(said))
		}
	}
}
