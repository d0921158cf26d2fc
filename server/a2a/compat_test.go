package a2a_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/a2apb"
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	a2agrpcv0 "github.com/a2aproject/a2a-go/v2/a2agrpc/v0"
	a2aserver "github.com/agentruntime/agentruntime/server/a2a"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// speaksBoth makes a world speak version 0.3, too, in which gRPC knows the clerk
// only.
func speaksBoth(s *setup) { s.settings.V03, s.settings.DefaultAgent = true, "clerk" }

// oldClient returns a client of the clerk that speaks version 0.3.
func (w *world) oldClient(over a2a.TransportProtocol) *a2aclient.Client {
	w.t.Helper()
	at := &a2a.AgentInterface{URL: w.url + "/a2a/clerk/v0.3", ProtocolBinding: over, ProtocolVersion: a2av0.Version}
	if over == a2a.TransportProtocolGRPC {
		at.URL = w.surface.GRPCAddr()
	}
	c, err := a2aclient.NewFromEndpoints(w.t.Context(), []*a2a.AgentInterface{at}, a2aclient.WithCallInterceptors(bearer("alice")),
		a2av0.WithJSONRPCTransport(a2av0.JSONRPCTransportConfig{}), a2av0.WithRESTTransport(a2av0.RESTTransportConfig{}),
		a2agrpcv0.WithGRPCTransport(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Destroy() })
	return c
}

func TestVersion03IsSpokenWhereItIsWanted(t *testing.T) {
	w := open(t, speaksBoth)
	w.model.teach("ask", asks("1", "who?"), says("hello ", "you"))
	for _, over := range transports {
		c := w.oldClient(over)
		task := send(t, c, request(user("ask")))
		if task.Status.State != a2a.TaskStateInputRequired {
			t.Fatalf("%s: the task is %s", over, task.Status.State)
		}
		list, err := events(c.SendStreamingMessage(t.Context(), request(a2a.NewMessageForTask(a2a.MessageRoleUser, task, a2a.NewTextPart("me")))))
		content, _ := assembled(list)
		if got := states(list); err != nil || content["response"] != "hello you" || got[len(got)-1] != a2a.TaskStateCompleted {
			t.Errorf("%s: the stream has %v, %q, %v", over, got, content["response"], err)
		}
		if _, err := c.GetTask(t.Context(), &a2a.GetTaskRequest{ID: "nothing"}); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("%s: an unknown task gives %v", over, err)
		}
		card, err := c.GetExtendedAgentCard(t.Context(), &a2a.GetExtendedAgentCardRequest{})
		if err != nil || len(card.SupportedInterfaces) == 0 {
			t.Fatalf("%s: the extended card is %+v, %v", over, card, err)
		}
		for _, i := range card.SupportedInterfaces {
			if i.ProtocolVersion != a2av0.Version {
				t.Errorf("%s: the extended card has the interface %+v", over, i)
			}
		}
	}
}

func TestTheExtendedCardOfVersion03DescribesVersion03(t *testing.T) {
	w := open(t, speaksBoth, func(s *setup) {
		s.settings.Credentials = func() a2aserver.Credentials { return a2aserver.Credentials{Keys: true} }
	})
	_, plain := w.do(http.MethodGet, "/a2a/clerk/v0.3/v1/card", "")
	_, rpcAnswer := w.post("/a2a/clerk/v0.3", asJSON, rpc("agent/getAuthenticatedExtendedCard", `{}`))
	var answer struct {
		ID     int             `json:"id"`
		Result json.RawMessage `json:"result"`
	}
	if err := json.Unmarshal([]byte(rpcAnswer), &answer); err != nil || answer.ID != 7 {
		t.Fatalf("JSON-RPC answers %s", rpcAnswer)
	}
	for over, body := range map[string][]byte{"REST": []byte(plain), "JSON-RPC": answer.Result} {
		var card struct {
			URL                  string `json:"url"`
			PreferredTransport   string `json:"preferredTransport"`
			ProtocolVersion      string `json:"protocolVersion"`
			Extended             bool   `json:"supportsAuthenticatedExtendedCard"`
			AdditionalInterfaces []struct {
				URL string `json:"url"`
			} `json:"additionalInterfaces"`
			SecuritySchemes map[string]struct {
				Type string `json:"type"`
			} `json:"securitySchemes"`
		}
		if err := json.Unmarshal(body, &card); err != nil {
			t.Fatalf("%s: the card is %s", over, body)
		}
		if card.URL != w.url+"/a2a/clerk/v0.3" || card.PreferredTransport != "JSONRPC" || card.ProtocolVersion != "0.3" || !card.Extended {
			t.Errorf("%s: the card is %s", over, body)
		}
		for _, i := range card.AdditionalInterfaces {
			if strings.HasPrefix(i.URL, "http") && !strings.HasSuffix(i.URL, "/v0.3") {
				t.Errorf("%s: the card has the address %s", over, i.URL)
			}
		}
		if len(card.SecuritySchemes) == 0 {
			t.Errorf("%s: the card has no security schemes: %s", over, body)
		}
		for name, scheme := range card.SecuritySchemes {
			if scheme.Type == "" {
				t.Errorf("%s: the scheme %s has no type", over, name)
			}
		}
	}
}

func TestVersion03IsNotSpokenUnasked(t *testing.T) {
	w := open(t)
	for _, over := range transports {
		if _, err := w.oldClient(over).SendMessage(t.Context(), request(user("hello"))); err == nil {
			t.Errorf("%s: version 0.3 is spoken", over)
		}
	}
}

func TestTheLastEventOfAnOldStreamSaysSo(t *testing.T) {
	w := open(t, speaksBoth)
	conn, err := grpc.NewClient(w.surface.GRPCAddr(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer alice")
	stream, err := a2apb.NewA2AServiceClient(conn).SendStreamingMessage(ctx, &a2apb.SendMessageRequest{Request: &a2apb.Message{
		MessageId: "m1", Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{{Part: &a2apb.Part_Text{Text: "hello"}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var final []bool
	for {
		ev, err := stream.Recv()
		if err != nil {
			break
		}
		if u := ev.GetStatusUpdate(); u != nil {
			final = append(final, u.GetFinal())
		}
	}
	if len(final) == 0 || !final[len(final)-1] || slices.Contains(final[:len(final)-1], true) {
		t.Errorf("final is %v", final)
	}
}

// TestErrorsUseTheNamesOfTheVersion sends messages with a wrong role in each binding. Version
// 1.0 renamed the roles of JSON-RPC; the other bindings of 0.3 already use the new names.
func TestErrorsUseTheNamesOfTheVersion(t *testing.T) {
	w := open(t, speaksBoth)
	const oldREST = `{"message":{"messageId":"m1","role":"ROLE_USER","content":[{"text":"hello"}]}}`
	for _, role := range []string{"agent", "system", ""} {
		oldHello, restHello, newHello := strings.Replace(old, `"user"`, `"`+role+`"`, 1), strings.Replace(oldREST, "ROLE_USER", role, 1), strings.Replace(hello, "ROLE_USER", role, 1)
		for _, c := range []struct{ path, version, body, want string }{
			{"/v0.3", "0.3", rpc("message/send", oldHello), "user"},
			{"/v0.3/v1/message:send", "0.3", restHello, "ROLE_USER"},
			{"", "0.3", rpc("message/send", oldHello), "user"},
			{"", "1.0", rpc("SendMessage", newHello), "ROLE_USER"},
			{"/message:send", "1.0", newHello, "ROLE_USER"},
		} {
			if _, text := w.post("/a2a/clerk"+c.path, asJSON, c.body, "A2A-Version", c.version); !strings.Contains(text, `the role of the message must be \"`+c.want+`\"`) {
				t.Errorf("%s: %q answers %q with %s", c.version, c.path, role, text)
			}
		}
	}
}

func TestErrorsOfVersion03RepeatLittleOfARequest(t *testing.T) {
	w := open(t, speaksBoth)
	long := strings.Repeat("x", 100_000)
	for _, method := range []string{"message/send", "message/stream"} {
		_, body := w.post("/a2a/clerk/v0.3", asJSON, rpc(method, `{"message":{"messageId":"m","role":"user","parts":[{"kind":"`+long+`","text":"hello"}]}}`))
		if !strings.Contains(body, "unknown part kind xxx") || len(body) > 20_000 {
			t.Errorf("%s answers with %d bytes: %.300s", method, len(body), body)
		}
	}
}
