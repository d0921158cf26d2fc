package openapitest_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/openapitest"
)

const text = `{"openapi":"3.1.0","info":{"title":"t","version":"1"},"paths":{
"/things":{"post":{
  "parameters":[{"name":"n","in":"query","schema":{"type":"integer"}},{"name":"X-Mode","in":"header","schema":{"enum":["a","b"]}}],
  "requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing"}}}},
  "responses":{
    "201":{"description":"made","headers":{"ETag":{"required":true,"schema":{"type":"string"}}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Thing"}}}},
    "204":{"description":"nothing"},
    "400":{"description":"refused","content":{"text/plain":{"schema":{"const":"no"}}}}}}},
"/things/{id}":{"parameters":[{"name":"id","in":"path","required":true,"schema":{"pattern":"^[0-9]+$"}}],
  "get":{"responses":{"200":{"description":"stream","content":{"text/event-stream":{"schema":{"$ref":"#/components/schemas/Thing"}}}}}}},
"/things/{id}:call":{"parameters":[{"name":"id","in":"path","required":true,"schema":{}}],
  "post":{"requestBody":{"content":{"application/json":{"schema":{"type":"object"}}}},"responses":{"200":{"description":"rpc","content":{"*/*":{"schema":true}}}}}}},
"components":{"schemas":{"Thing":{"allOf":[{"$ref":"#/components/schemas/Named"}],"properties":{"size":{"type":["integer","null"]}}},
  "Named":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"more":{"$ref":"#/components/schemas/Thing"},"any":{"type":"object"}}}}}}`

// witness is a test that records its failures.
type witness struct {
	testing.TB
	told []string
}

// Errorf records a failure.
func (w *witness) Errorf(format string, args ...any) {
	w.told = append(w.told, fmt.Sprintf(format, args...))
}

func TestWhatIsNotDescribedFails(t *testing.T) {
	t.Parallel()
	made := func(body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", "1")
			w.Header().Set("Content-Type", "application/json; charset=utf-8")
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w, body)
		}
	}
	answer := func(status int, kind, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	good := `{"name":"x"}`
	for name, c := range map[string]struct {
		request, body string
		answer        http.HandlerFunc
		// want is part of the failure; empty means no failure.
		want string
	}{
		"as it should be":             {"POST /things?n=3", good, made(`{"name":"x","size":null,"more":{"name":"y"},"any":{"z":1}}`), ""},
		"another status":              {"POST /things", good, answer(200, "application/json", good), "the status 200 is not described"},
		"another type":                {"POST /things", good, answer(400, "application/json", `"no"`), `the media type "application/json" is not described`},
		"a header less":               {"POST /things", good, answer(201, "application/json", good), "lacks the header ETag"},
		"a body that is wrong":        {"POST /things", good, made(`{"name":1}`), "got number, want string"},
		"a field that is missing":     {"POST /things", good, made(`{}`), "missing property 'name'"},
		"a field more":                {"POST /things", good, made(`{"name":"x","colour":"red"}`), "/colour"},
		"a field more, deep inside":   {"POST /things", good, made(`{"name":"x","more":{"name":"x","colour":"red"}}`), "/colour"},
		"no JSON":                     {"POST /things", good, made(`{`), "EOF"},
		"an event that is wrong":      {"GET /things/7", "", answer(200, "text/event-stream", "data: {}\n\n"), "sends an event that is not described"},
		"events":                      {"GET /things/7", "", answer(200, "text/event-stream", ": hi\n\nid: 1\ndata: {\"name\":\ndata: \"x\"}\n\n"), ""},
		"no such path":                {"GET /nothing", "", answer(200, "text/plain", "ok"), "GET /nothing gives 200 and is not described"},
		"no such path, which is said": {"GET /nothing", "", answer(404, "text/plain", "no"), ""},
		"a request that is wrong":     {"POST /things", `{"size":1}`, made(good), "takes a request that is not described"},
		"one that is refused":         {"POST /things", `{"size":1}`, answer(400, "text/plain", "no"), ""},
		"a request with a field more": {"POST /things", `{"name":"x","colour":"red"}`, made(good), ""},
		"a parameter that is wrong":   {"POST /things?n=x", good, made(good), "the parameter n"},
		"one that is not described":   {"POST /things?m=1", good, made(good), "the parameter m is not described"},
		"a path that is wrong":        {"GET /things/x", "", answer(200, "text/event-stream", ""), "the parameter id"},
		"a path that ends in a verb":  {"POST /things/x:call", "{}", answer(200, "text/plain", "ok"), ""},
		"an error of JSON-RPC":        {"POST /things/x:call", "[", answer(200, "application/json", `{"jsonrpc":"2.0","error":{}}`), ""},
		"no error of JSON-RPC":        {"POST /things/x:call", "[", answer(200, "application/json", `{"jsonrpc":"2.0","result":{}}`), "takes a request"},
		"an operation without a body": {"POST /things", good, answer(204, "", ""), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(c.answer)
			defer s.Close()
			w := &witness{TB: t}
			client := &http.Client{Transport: openapitest.Transport(w, s.Client().Transport, func() ([]byte, error) { return []byte(text), nil })}
			method, path, _ := strings.Cut(c.request, " ")
			req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(c.body))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := client.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Fatal(err)
			}
			if said := strings.Join(w.told, "\n"); c.want == "" && said != "" || !strings.Contains(said, c.want) {
				t.Errorf("it says %q", said)
			}
		})
	}
}

func TestDocumentsAreValid(t *testing.T) {
	t.Parallel()
	if err := openapitest.Validate([]byte(text)); err != nil {
		t.Error(err)
	}
	for name, wrong := range map[string]string{
		"a field that documents have not": strings.Replace(text, `"paths"`, `"colour":"red","paths"`, 1),
		"an invalid schema":               strings.Replace(text, `"type":"string"`, `"type":"text"`, 1),
		"a reference to nothing":          strings.Replace(text, "schemas/Named", "schemas/Nobody", 1),
		"no JSON":                         "{",
	} {
		if openapitest.Validate([]byte(wrong)) == nil {
			t.Errorf("%s is valid", name)
		}
	}
}
