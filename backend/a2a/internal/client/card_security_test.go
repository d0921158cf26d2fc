package client

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
)

// TestSecurityRequirementsAreReadInEveryForm reads the scopes of a scheme in the protocol's form,
// an object with a list, and in the SDK's form, an array.
func TestSecurityRequirementsAreReadInEveryForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]a2a.SecurityRequirementsOptions{
		`[{"schemes":{"bearer":{}}}]`:                        {{"bearer": {}}},
		`[{"schemes":{"bearer":{"list":[]}}}]`:               {{"bearer": {}}},
		`[{"schemes":{"bearer":[]}}]`:                        {{"bearer": {}}},
		`[{"schemes":{"a":{"list":["x"]},"b":["y"]}}, {}]`:   {{"a": {"x"}, "b": {"y"}}, nil},
		`[{"schemes":{"bearer":{}}},{"schemes":{"key":{}}}]`: {{"bearer": {}}, {"key": {}}},
		`[]`:   {},
		`null`: nil,
	} {
		card, err := ParseCard(fmt.Appendf(nil, `{"name":"x","supportedInterfaces":[{"url":"https://x.example","protocolBinding":"JSONRPC"}],
			"securitySchemes":{"bearer":{"httpAuthSecurityScheme":{"scheme":"Bearer"}}},
			"skills":[{"id":"s","securityRequirements":%s}],"securityRequirements":%s}`, text, text))
		if err != nil || len(card.SecuritySchemes) != 1 || len(card.Skills) != 1 {
			t.Fatalf("%s: %+v, %v", text, card, err)
		}
		for _, got := range []a2a.SecurityRequirementsOptions{card.SecurityRequirements, card.Skills[0].SecurityRequirements} {
			if len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
				t.Errorf("%s is read as %v", text, got)
			}
		}
	}
}

// TestACallThatEndedThereIsNotRefused ends gRPC calls without a request to do so,
// like a server or a proxy.
func TestACallThatEndedThereIsNotRefused(t *testing.T) {
	t.Parallel()
	for _, code := range []codes.Code{codes.Canceled, codes.DeadlineExceeded} {
		p := reach(t, peertest.ServeGRPC(t, &peertest.GRPCAgent{Refuse: status.Error(code, "gone")}))
		for name, err := range map[string]error{"call": getTask(t, p), "stream": func() error { _, err := stream(t, p); return err }()} {
			if got := Judge(err); got != (Judgement{Passing, CodeUnreachable}) {
				t.Errorf("a %s that ends with %s is judged %+v: %v", name, code, got, err)
			}
		}
	}
	p := reach(t, peertest.ServeGRPC(t, &peertest.GRPCAgent{}))
	_ = getTask(t, p) // sets the token to token-2
	conn, err := p.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	for _, err := range conn.Client.SendStreamingMessage(ctx, &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("x"))}) {
		if err != nil && Judge(err).Code == CodeRefused {
			t.Errorf("a stream that its client ends is refused: %v", err)
		}
		cancel()
	}
	cancel()
}
