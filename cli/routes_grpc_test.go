package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config/settings"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"
)

// callRow defines the requirements for a gRPC method.
type callRow struct {
	// request is its message as JSON, with things owned by ann.
	request string
	// lost is set when the call names something that no other caller finds.
	lost bool
}

const (
	newGRPC = "lf.a2a.v1.A2AService/"
	oldGRPC = "a2a.v1.A2AService/"
)

// callRows lists all methods of the gRPC services.
var callRows = map[string]callRow{
	newGRPC + "SendMessage":                      {`{"tenant":"clerk","message":{` + oneAnswer + `}}`, true},
	newGRPC + "SendStreamingMessage":             {`{"tenant":"clerk","message":{` + oneAnswer + `}}`, true},
	newGRPC + "GetTask":                          {`{"tenant":"clerk","id":"{task}"}`, true},
	newGRPC + "ListTasks":                        {`{"tenant":"clerk"}`, false},
	newGRPC + "CancelTask":                       {`{"tenant":"clerk","id":"{task}"}`, true},
	newGRPC + "SubscribeToTask":                  {`{"tenant":"clerk","id":"{task}"}`, true},
	newGRPC + "CreateTaskPushNotificationConfig": {`{"tenant":"clerk","taskId":"{task}","url":"{hookurl}"}`, true},
	newGRPC + "GetTaskPushNotificationConfig":    {`{"tenant":"clerk","taskId":"{task}","id":"{hook}"}`, true},
	newGRPC + "ListTaskPushNotificationConfigs":  {`{"tenant":"clerk","taskId":"{task}"}`, true},
	newGRPC + "DeleteTaskPushNotificationConfig": {`{"tenant":"clerk","taskId":"{task}","id":"{hook}"}`, true},
	newGRPC + "GetExtendedAgentCard":             {`{"tenant":"clerk"}`, false},
	oldGRPC + "SendMessage":                      {`{"request":{"taskId":"{task}","messageId":"{message}","role":"ROLE_USER","parts":[{"data":{"data":{"approved":true}}}]}}`, true},
	oldGRPC + "SendStreamingMessage":             {`{"request":{"taskId":"{task}","messageId":"{message}","role":"ROLE_USER","parts":[{"data":{"data":{"approved":true}}}]}}`, true},
	oldGRPC + "GetTask":                          {`{"name":"tasks/{task}"}`, true},
	oldGRPC + "ListTasks":                        {`{}`, false},
	oldGRPC + "CancelTask":                       {`{"name":"tasks/{task}"}`, true},
	oldGRPC + "TaskSubscription":                 {`{"name":"tasks/{task}"}`, true},
	oldGRPC + "CreateTaskPushNotificationConfig": {`{"parent":"tasks/{task}","configId":"x","config":{"name":"tasks/{task}/pushNotificationConfigs/x","pushNotificationConfig":{"id":"x","url":"{hookurl}"}}}`, true},
	oldGRPC + "GetTaskPushNotificationConfig":    {`{"name":"tasks/{task}/pushNotificationConfigs/{hook}"}`, true},
	oldGRPC + "ListTaskPushNotificationConfig":   {`{"parent":"tasks/{task}"}`, true},
	oldGRPC + "DeleteTaskPushNotificationConfig": {`{"name":"tasks/{task}/pushNotificationConfigs/{hook}"}`, true},
	oldGRPC + "GetAgentCard":                     {`{}`, false},
}

// grpcMethods returns the methods of all A2A services in the program.
func grpcMethods() map[string]protoreflect.MethodDescriptor {
	found := map[string]protoreflect.MethodDescriptor{}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				if method := service.Methods().Get(j); strings.Contains(string(service.FullName()), "a2a") {
					found[string(service.FullName())+"/"+string(method.Name())] = method
				}
			}
		}
		return true
	})
	return found
}

// dialGRPC connects to the address on an agent's card.
func (w *town) dialGRPC(t testing.TB, agent string) *grpc.ClientConn {
	t.Helper()
	var card struct {
		Interfaces []struct {
			URL             string
			ProtocolBinding string
		} `json:"supportedInterfaces"`
	}
	resp, err := http.Get(w.LocalURL() + "/a2a/" + agent + "/.well-known/agent-card.json")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&card); err != nil {
		t.Fatal(err)
	}
	for _, at := range card.Interfaces {
		if at.ProtocolBinding != "GRPC" {
			continue
		}
		conn, err := grpc.NewClient(strings.TrimPrefix(at.URL, "http://"), grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
	t.Fatal("the card names no address of gRPC")
	return nil
}

// invoke calls a method and returns its first answer, or its error.
func invoke(t *testing.T, conn *grpc.ClientConn, method protoreflect.MethodDescriptor, body string, header http.Header) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), storeTime)
	defer cancel()
	for name, values := range header {
		for _, value := range values {
			ctx = metadata.AppendToOutgoingContext(ctx, strings.ToLower(name), value)
		}
	}
	in, out := dynamicpb.NewMessage(method.Input()), dynamicpb.NewMessage(method.Output())
	if err := protojson.Unmarshal([]byte(body), in); err != nil {
		t.Fatalf("%s: %v", method.FullName(), err)
	}
	path := "/" + string(method.Parent().FullName()) + "/" + string(method.Name())
	stream, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, path)
	if err == nil {
		err = stream.SendMsg(in)
	}
	if err == nil {
		err = stream.CloseSend()
	}
	if err == nil || err == io.EOF { //nolint:errorlint // the stream returns it as it is
		err = stream.RecvMsg(out)
	}
	if err != nil {
		return "", err
	}
	text, err := protojson.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), nil
}

// noise is the codec of a client that sends bytes that are not a message.
type noise struct{}

func (noise) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (noise) Unmarshal([]byte, any) error   { return nil }
func (noise) Name() string                  { return "proto" }

// TestNobodysRequestOverGRPCIsDecoded sends undecodable messages of the maximum size: only
// authorized callers receive a decoding error.
func TestNobodysRequestOverGRPCIsDecoded(t *testing.T) {
	w := newTown(t)
	conn := w.dialGRPC(t, "clerk")
	garbage := bytes.Repeat([]byte{0xff}, 4<<20-1)
	for name := range grpcMethods() {
		for shown, want := range map[string]codes.Code{"": codes.Unauthenticated, annKey: codes.Internal} {
			ctx, cancel := context.WithTimeout(t.Context(), storeTime)
			if shown != "" {
				ctx = metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+shown)
			}
			err := conn.Invoke(ctx, "/"+name, &garbage, &[]byte{}, grpc.ForceCodec(noise{}))
			cancel()
			if status.Code(err) != want {
				t.Errorf("%s with the key %q returns %v, want %v", name, shown, err, want)
			}
		}
	}
}

func TestEveryMethodOfGRPCAnswersItsOwnerAlone(t *testing.T) {
	w := newTown(t)
	conn, strangers, methods := w.dialGRPC(t, "clerk"), w.strangers(t), grpcMethods()
	for name := range callRows {
		if methods[name] == nil {
			t.Errorf("the row %s has no method", name)
		}
	}
	for name, method := range methods {
		row, known := callRows[name]
		if !known {
			t.Errorf("%s has no row: say what those are told who own nothing", name)
			continue
		}
		t.Run(strings.ReplaceAll(name, "/", "|"), func(t *testing.T) {
			made := w.make(t, row.request)
			gone := made.gone()
			call := func(named things, header http.Header) *status.Status {
				text, err := invoke(t, conn, method, named.fill(row.request, ""), header)
				got := heard{body: text}
				if err != nil {
					got.body = err.Error()
				}
				if leaked := w.leaks(&got, named.fill(row.request, ""), made); len(leaked) > 0 {
					t.Errorf("the answer holds %q: %s", leaked, got.body)
				}
				return status.Convert(err)
			}
			for who, s := range strangers {
				got, none := call(made, s.header), call(gone, s.header)
				if got.Code() != codes.Unauthenticated || got.Message() != "a credential is needed" || none.Message() != got.Message() || none.Code() != got.Code() {
					t.Errorf("with %s it says %v, and of what does not exist %v", who, got, none)
				}
			}
			others := slices.DeleteFunc(slices.Clone(w.scopes), func(scope string) bool { return scope == settings.ScopeA2AInvoke })
			if got := call(made, bearer(w.token(t, "acme", "ann", others...))); got.Code() != codes.PermissionDenied || got.Message() != "the credential lacks the scope "+settings.ScopeA2AInvoke {
				t.Errorf("without the scope it says %v", got)
			}
			for _, caller := range [][2]string{{"globex", "bob"}, {"acme", "ben"}, {"globex", "ann"}} {
				if !row.lost {
					continue
				}
				header := bearer(w.token(t, caller[0], caller[1], w.scopes...))
				got, none := call(made, header), call(gone, header)
				if got.Code() != codes.NotFound || !strings.Contains(got.Message(), made["{task}"]) ||
					strings.ReplaceAll(none.Message(), gone["{task}"], made["{task}"]) != got.Message() || none.Code() != got.Code() {
					t.Errorf("%s is told %v, and of what does not exist %v", caller, got, none)
				}
			}
			if hidden := call(made, bearer(eveKey)); hidden.Code() != codes.NotFound {
				t.Errorf("who may not use the agent is told %v", hidden)
			}
			header := bearer(w.token(t, "acme", "ann", settings.ScopeA2AInvoke))
			if text, err := invoke(t, conn, method, made.fill(row.request, ""), header); err != nil {
				t.Errorf("the owner is told %v %s", err, text)
			}
		})
	}
	for _, secret := range w.secrets {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}
