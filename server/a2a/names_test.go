package a2a

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
)

// filled returns a message with each of its fields, by their plain or JSON names.
func filled(message protoreflect.MessageDescriptor, plain bool, depth int) map[string]any {
	fields := make(map[string]any)
	for i := range message.Fields().Len() {
		f := message.Fields().Get(i)
		name := f.JSONName()
		if plain {
			name = string(f.Name())
		}
		var value any = name + "_value" // is not a name
		if plain {
			value = f.JSONName() + "_value"
		}
		switch inner := f.Message(); {
		case inner == nil:
		case inner.ParentFile().Package() == "google.protobuf" || f.IsMap():
			value = map[string]any{"kept_as_it_is": map[string]any{"message_id": 1}}
		case depth > 0:
			value = filled(inner, plain, depth-1)
		}
		if f.IsList() {
			value = []any{value, value}
		}
		fields[name] = value
	}
	return fields
}

func TestEveryFieldOfARequestMayHaveItsPlainName(t *testing.T) {
	for method, m := range methods {
		message := m.message
		body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": filled(message, true, 6)})
		if err != nil {
			t.Fatal(err)
		}
		e := &endpoint{rpc: true}
		var got struct {
			Params map[string]any `json:"params"`
		}
		if err := json.Unmarshal(e.jsonNames(nil, body), &got); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(filled(message, false, 6))
		if err != nil {
			t.Fatal(err)
		}
		var want map[string]any
		if err := json.Unmarshal(data, &want); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Params, want) {
			t.Errorf("%s: the parameters become\n%v, not\n%v", method, got.Params, want)
		}
	}
}

func TestABodyWithoutPlainNamesStaysAsItIs(t *testing.T) {
	for _, body := range []string{
		`{"method":"SendMessage","params":{"message":{"messageId":"a_b","parts":[{"data":{"context_id":1}}],"metadata":{"message_id":2}}}}`,
		`{"method":"GetTask","params":{"id":"x_y","history_length":1,"historyLength":2}}`,
		`{"method":"no_method","params":{"history_length":1}}`, `{"method":"GetTask","params":["history_length"]}`, `["_"]`, `_`,
	} {
		if got := (&endpoint{rpc: true}).jsonNames(nil, []byte(body)); string(got) != body {
			t.Errorf("%s becomes %s", body, got)
		}
	}
}

func TestABodyOfHTTPMayHavePlainNames(t *testing.T) {
	for path, c := range map[string]struct{ body, want string }{
		"/a2a/x/message:send":                     {`{"message":{"message_id":"m"}}`, `{"message":{"messageId":"m"}}`},
		"/a2a/x/message:stream":                   {`{"configuration":{"history_length":1}}`, `{"configuration":{"historyLength":1}}`},
		"/a2a/x/tasks/t/pushNotificationConfigs/": {`{"task_id":"t"}`, `{"taskId":"t"}`},
		"/a2a/x/tasks/t:cancel":                   {`{"task_id":"t"}`, `{"task_id":"t"}`},
	} {
		r := httptest.NewRequest(http.MethodPost, path, nil)
		r.SetPathValue("path", strings.TrimPrefix(path, "/a2a/x/"))
		if got := (&endpoint{}).jsonNames(r, []byte(c.body)); string(got) != c.want {
			t.Errorf("%s: %s becomes %s", path, c.body, got)
		}
	}
	q := url.Values{"history_length": {"1"}, "context_id": {"c"}, "pageSize": {"2"}, "other_name": {"x"}, "page_token": {"a"}, "pageToken": {"b"}}
	if !jsonQuery(q) || q.Encode() != "contextId=c&historyLength=1&other_name=x&pageSize=2&pageToken=b&page_token=a" {
		t.Errorf("the query becomes %s", q.Encode())
	}
}
