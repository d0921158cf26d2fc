package client

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
	"github.com/agentruntime/agentruntime/spec"
	"go.uber.org/zap"
)

func TestOptionsHaveDefaults(t *testing.T) {
	t.Parallel()
	got, list := readOptions(nil)
	if len(list) != 0 || !reflect.DeepEqual(got, defaultOptions()) {
		t.Errorf("options are %+v, %v", got, list)
	}
	if got, list := readOptions(map[string]json.RawMessage{"poll_interval": []byte("null")}); len(list) != 0 || got.Poll.Next != 2*time.Second {
		t.Errorf("null means %s, %v", got.Poll.Next, list)
	}
}

func TestEveryOptionIsRead(t *testing.T) {
	t.Parallel()
	raw := map[string]json.RawMessage{
		"poll_interval": []byte(`"100ms"`), "max_poll_interval": []byte(`"1m"`), "history_length": []byte(`0`), "stream": []byte(`false`),
		"transports": []byte(`["grpc","rest"]`), "allow_v0_3": []byte(`true`), "card_url": []byte(`"/card.json"`), "card_list": []byte(`null`), "card_ttl": []byte(`"1h"`),
		"signatures": []byte(`"required"`), "signature_keys": []byte(`{"keys":[` + peertest.PublicKey + `]}`),
		"allow_private": []byte(`["10.0.0.0/8"]`), "allow_origins": []byte(`["https://b.example"]`), "idle_timeout": []byte(`"10s"`),
		"max_event_bytes": []byte(`2048`), "max_output_bytes": []byte(`4096`), "concurrency": []byte(`1`),
	}
	if missing := slices.DeleteFunc(slices.Sorted(maps.Keys(settings)), func(name string) bool { return raw[name] != nil }); len(missing) != 0 {
		t.Fatalf("the test leaves out %q", missing)
	}
	got, list := readOptions(raw)
	if len(list) != 0 {
		t.Fatal(list)
	}
	if len(got.Card.Keys.Keys) != 1 {
		t.Fatalf("%d keys", len(got.Card.Keys.Keys))
	}
	want := Options{
		Poll: Pace{100 * time.Millisecond, time.Minute}, HistoryLength: new(0),
		transports: []a2a.TransportProtocol{"GRPC", "HTTP+JSON"}, allowV03: true,
		Card:         cardOptions{URL: "/card.json", ttl: time.Hour, Signatures: signaturesRequired, Keys: got.Card.Keys},
		allowPrivate: []string{"10.0.0.0/8"}, allowOrigins: []string{"https://b.example"}, idleTimeout: 10 * time.Second,
		maxEventBytes: 2048, MaxOutputBytes: 4096, concurrency: 1,
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("options are\n%+v, want\n%+v", got, want)
	}
	// A card has one location: this option replaces card_url.
	if got, list := readOptions(map[string]json.RawMessage{"card_list": []byte(`"/cards.json"`)}); len(list) != 0 || got.Card.List != "/cards.json" {
		t.Errorf("card_list is %q, %v", got.Card.List, list)
	}
}

func TestOptionsThatAreWrong(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"poll_intervall":"2s"}`:                                  `unknown-field options.poll_intervall: backend a2a has no option "poll_intervall" (did you mean "poll_interval"?)`,
		`{"zzz":1}`:                                                `unknown-field options.zzz: backend a2a has no option "zzz" (known: allow_origins, allow_private, allow_v0_3, card_list, card_ttl, card_url, concurrency, history_length, idle_timeout, max_event_bytes, max_output_bytes, max_poll_interval, poll_interval, signature_keys, signatures, stream, transports)`,
		`{"card_list":"/a","card_url":"/b"}`:                       "invalid-value options.card_list: card_list and card_url are both set; a card is in one place",
		`{"card_list":"a"}`:                                        "invalid-value options.card_list: card_list is neither a URL nor a path that begins with /",
		`{"poll_interval":"0s"}`:                                   "invalid-value options.poll_interval: poll_interval is 0s; allowed are 100ms to 1h0m0s",
		`{"poll_interval":5}`:                                      "invalid-value options.poll_interval: poll_interval is not a duration such as 10s or 1m30s",
		`{"poll_interval":"1m"}`:                                   "invalid-value options.max_poll_interval: max_poll_interval is 30s; it must not be less than the poll_interval of 1m0s",
		`{"stream":"yes"}`:                                         "invalid-value options.stream: stream is neither true nor false",
		`{"history_length":-1}`:                                    "invalid-value options.history_length: history_length is -1; allowed are 0 to 10000",
		`{"history_length":1.5}`:                                   "invalid-value options.history_length: history_length is not a whole number",
		`{"max_event_bytes":11000000}`:                             "invalid-value options.max_event_bytes: max_event_bytes is 11000000; allowed are 1024 to 10485760",
		`{"transports":"rest"}`:                                    "invalid-value options.transports: transports is not a list of texts",
		`{"transports":[]}`:                                        "invalid-value options.transports: transports is empty; without a transport no peer can be reached",
		`{"transports":["http"]}`:                                  `invalid-value options.transports: transports has "http"; allowed are jsonrpc, rest, grpc`,
		`{"card_url":"card.json"}`:                                 "invalid-value options.card_url: card_url is neither a URL nor a path that begins with /",
		`{"card_url":"//other.example"}`:                           "invalid-value options.card_url: card_url is neither a URL nor a path that begins with /",
		`{"card_url":"file:///etc/passwd"}`:                        "invalid-value options.card_url: card_url must start with http:// or https:// and name a host",
		`{"card_url":"https://u:hush@x.example"}`:                  "invalid-value options.card_url: card_url must not contain a user or password",
		`{"card_ttl":"1s"}`:                                        "invalid-value options.card_ttl: card_ttl is 1s; allowed are 5s to 24h0m0s",
		`{"signatures":"on"}`:                                      `invalid-value options.signatures: signatures is "on"; allowed are off, if_present, required`,
		`{"signatures":"required"}`:                                "missing-field options.signature_keys: signature_keys is required when signatures are required",
		`{"signature_keys":{"keys":[]}}`:                           "invalid-value options.signature_keys: signature_keys is not a JWK set: an object with a list of keys in the field keys",
		`{"signature_keys":"hush"}`:                                "invalid-value options.signature_keys: signature_keys is not a JWK set: an object with a list of keys in the field keys",
		`{"signature_keys":{"keys":[{"kty":"oct","k":"aHVzaA"}]}}`: "invalid-value options.signature_keys: signature_keys has no valid public key at position 0",
		`{"allow_private":["*.x"]}`:                                `invalid-value options.allow_private: allow_private is not right: allow "*.x": wildcards are not supported; list the hosts, or a CIDR block`,
		`{"allow_origins":["x.example"]}`:                          `invalid-value options.allow_origins: allow_origins has "x.example", which is not an origin such as https://agents.example:8443`,
		`{"allow_origins":["https://x.example/a"]}`:                `invalid-value options.allow_origins: allow_origins has "https://x.example/a", which is not an origin such as https://agents.example:8443`,
		`{"concurrency":0}`:                                        "invalid-value options.concurrency: concurrency is 0; allowed are 1 to 100000",
	} {
		e := &spec.Endpoint{BaseURL: "https://x.example"}
		if err := json.Unmarshal([]byte(raw), &e.Options); err != nil {
			t.Fatal(err)
		}
		list := Validate(e)
		if len(list) != 1 {
			t.Errorf("%s: %v", raw, list)
			continue
		}
		got := string(list[0].Code) + " " + list[0].Path + ": " + list[0].Message
		if list[0].Hint != "" {
			got += " (" + list[0].Hint + ")"
		}
		if got != want || strings.Contains(got, "hush") {
			t.Errorf("%s:\n got %s\nwant %s", raw, got, want)
		}
		if _, err := New(e, zap.NewNop()); err == nil {
			t.Errorf("%s: there is a backend", raw)
		}
	}
}

// A file reference resolves to the file's text.
func TestKeysMayBeAText(t *testing.T) {
	t.Parallel()
	text, _ := json.Marshal(`{"keys":[` + peertest.PublicKey + `]}`)
	if o, list := readOptions(map[string]json.RawMessage{"signature_keys": text}); len(list) != 0 || len(o.Card.Keys.Keys) != 1 {
		t.Errorf("%d keys, %v", len(o.Card.Keys.Keys), list)
	}
}

func TestTargetsAndKeysThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		endpoint spec.Endpoint
		want     string
	}{
		{spec.Endpoint{Target: ".."}, `target "..": is no name`},
		{spec.Endpoint{Target: "..."}, ""},
		{spec.Endpoint{Auth: &spec.Auth{Type: "api_key", In: "cookie"}, Options: map[string]json.RawMessage{"transports": []byte(`["grpc"]`)}}, "auth.in"},
		{spec.Endpoint{Auth: &spec.Auth{Type: "api_key", In: "cookie"}}, ""},
	} {
		if list := Validate(&tt.endpoint); len(list) > 0 != (tt.want != "") {
			t.Errorf("%+v: %v", tt.endpoint, list)
		}
	}
}
