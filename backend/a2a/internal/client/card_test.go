package client

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
	"github.com/agentruntime/agentruntime/spec"
)

// judged parses a card and chooses one of its interfaces.
func judged(card string, o *Options) (*Chosen, error) {
	c, err := ParseCard([]byte(card))
	if err != nil {
		return nil, err
	}
	return chooseInterface(c, o, trustedOrigins(&spec.Endpoint{BaseURL: "https://a.example/agents"}, o))
}

func TestCardsThatAreBad(t *testing.T) {
	t.Parallel()
	const at = `{"name":"n","supportedInterfaces":[`
	for card, want := range map[string]string{
		``:              "not a JSON object",
		`null`:          "not a JSON object",
		`[]`:            "not a JSON object",
		`"card"`:        "not a JSON object",
		`{"name":1}`:    "json: cannot unmarshal number into Go struct field AgentCard.name of type string",
		`{`:             "not a JSON object",
		`{}`:            "it has no name",
		`{"name":"  "}`: "it has no name",
		`{"name":"n"}`:  "it has no interface",
		`{"name":"n","supportedInterfaces":null}`: "it has no interface",
		`{"name":"n","supportedInterfaces":{}}`:   "json: cannot unmarshal object into Go struct field AgentCard.supportedInterfaces of type []*a2a.AgentInterface",
		at + `null]}`:                             "no interface of it can be used: interface 0 is null",
		at + `null,null]}`:                        "no interface of it can be used: interface 0 is null\ninterface 1 is null",
		at + `{}]}`:                               `no interface of it can be used: interface 0 has the transport "", which is not among those that may be used`,
		at + `{"protocolBinding":"SOAP"}]}`:       `no interface of it can be used: interface 0 has the transport "SOAP", which is not among those that may be used`,
		at + `{"protocolBinding":"JSONRPC","url":"https://a.example"}]}`:                                                         "no interface of it can be used: interface 0 names no version of the protocol",
		at + `{"protocolBinding":"JSONRPC","protocolVersion":"0.3","url":"https://a.example"}]}`:                                 "no interface of it can be used: interface 0 speaks version 0.3 of the protocol, which allow_v0_3 permits",
		at + `{"protocolBinding":"JSONRPC","protocolVersion":"2.0","url":"https://a.example"}]}`:                                 `no interface of it can be used: interface 0 speaks version "2.0" of the protocol, which this runtime does not`,
		at + `{"protocolBinding":"JSONRPC","protocolVersion":"0.2.5","url":"https://a.example"}]}`:                               `no interface of it can be used: interface 0 speaks version "0.2.5" of the protocol, which this runtime does not`,
		at + `{"protocolBinding":"JSONRPC","protocolVersion":"1.0"}]}`:                                                           "no interface of it can be used: interface 0 has no URL",
		at + `{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"/rpc"}]}`:                                              `no interface of it can be used: interface 0 has a URL of scheme "", not http or https`,
		at + `{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"file:///etc/passwd"}]}`:                                `no interface of it can be used: interface 0 has a URL of scheme "file", not http or https`,
		at + `{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://"}]}`:                                          "no interface of it can be used: interface 0 has a URL without a host",
		at + `{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://a.example:x"}]}`:                               "no interface of it can be used: interface 0 has a URL that does not parse",
		at + `{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://u:p@a.example"}]}`:                             "no interface of it can be used: interface 0 has a URL with a user or password",
		at + `{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"http://a.example/"}]}`:                                 "no interface of it can be used: interface 0 is at http://a.example, which is not the origin of base_url; add it to allow_origins if it is right",
		at + `{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://a.example.evil.example/"}]}`:                   "no interface of it can be used: interface 0 is at https://a.example.evil.example, which is not the origin of base_url; add it to allow_origins if it is right",
		at + `{"protocolBinding":"JSONRPC","protocolVersion":"1.0","url":"https://a.example:8443/"}]}`:                           "no interface of it can be used: interface 0 is at https://a.example:8443, which is not the origin of base_url; add it to allow_origins if it is right",
		at + `{"protocolBinding":"GRPC","protocolVersion":"1.0","url":"http://a.example:443"}]}`:                                 "no interface of it can be used: interface 0 is gRPC without TLS",
		`{"name":"n","capabilities":{"extensions":[{"uri":"https://x.example/v1","required":true}]},"supportedInterfaces":[{}]}`: `the peer requires the extension "https://x.example/v1", which this runtime does not know`,
		`{"name":"n","url":"https://a.example","protocolVersion":"0.3.0"}`:                                                       "no interface of it can be used: interface 0 speaks version 0.3 of the protocol, which allow_v0_3 permits",
	} {
		got, err := judged(card, new(defaultOptions()))
		if err == nil || err.Error() != "the agent card cannot be used: "+want {
			t.Errorf("%s:\n got %v, %v\nwant %s", card, got, err, want)
		}
	}
}

func TestTheBestInterfaceIsChosen(t *testing.T) {
	t.Parallel()
	iface := func(binding, version, url string) string {
		return `{"protocolBinding":"` + binding + `","protocolVersion":"` + version + `","url":"` + url + `"}`
	}
	for name, tt := range map[string]struct {
		interfaces, Options, want string
	}{
		"the order of transports":      {iface("GRPC", "1.0", "a.example:443") + "," + iface("HTTP+JSON", "1.0", "https://a.example/r") + "," + iface("JSONRPC", "1.0", "https://a.example/j"), "", "JSONRPC 1.0 https://a.example/j"},
		"the configured order":         {iface("JSONRPC", "1.0", "https://a.example/j") + "," + iface("HTTP+JSON", "1.0", "https://a.example/r"), `{"transports":["rest","jsonrpc"]}`, "HTTP+JSON 1.0 https://a.example/r"},
		"the order of the card":        {iface("JSONRPC", "1.0", "https://a.example/1") + "," + iface("JSONRPC", "1.0", "https://a.example/2"), "", "JSONRPC 1.0 https://a.example/1"},
		"one that can be used":         {"null," + iface("JSONRPC", "1.0", "https://b.example") + "," + iface("HTTP+JSON", "1.0", "https://a.example/r"), "", "HTTP+JSON 1.0 https://a.example/r"},
		"a binding in another case":    {iface("http+json", "1.0", "https://A.EXAMPLE:443/r"), "", "HTTP+JSON 1.0 https://A.EXAMPLE:443/r"},
		"a later minor version":        {iface("JSONRPC", "v1.7", "https://a.example"), "", "JSONRPC 1.0 https://a.example"},
		"a version without a minor":    {iface("JSONRPC", "1", "https://a.example"), "", "JSONRPC 1.0 https://a.example"},
		"the newest version":           {iface("JSONRPC", "0.3", "https://a.example/old") + "," + iface("GRPC", "1.0", "a.example:443"), `{"allow_v0_3":true}`, "GRPC 1.0 a.example:443"},
		"no silent downgrade":          {iface("JSONRPC", "0.3", "https://a.example/old") + "," + iface("HTTP+JSON", "1.0", "https://a.example/r"), "", "HTTP+JSON 1.0 https://a.example/r"},
		"an allowed old version":       {iface("JSONRPC", "0.3.0", "https://a.example/old"), `{"allow_v0_3":true}`, "JSONRPC 0.3 https://a.example/old"},
		"an allowed origin":            {iface("JSONRPC", "1.0", "https://b.example/x"), `{"allow_origins":["https://B.example:443/"]}`, "JSONRPC 1.0 https://b.example/x"},
		"gRPC on this machine, no TLS": {iface("GRPC", "1.0", "127.0.0.1:50051"), `{"allow_origins":["http://127.0.0.1:50051"]}`, "GRPC 1.0 127.0.0.1:50051"},
		"gRPC elsewhere, with TLS":     {iface("GRPC", "1.0", "b.example:50051"), `{"allow_origins":["https://b.example:50051"]}`, "GRPC 1.0 b.example:50051"},
	} {
		var raw map[string]json.RawMessage
		if tt.Options != "" {
			if err := json.Unmarshal([]byte(tt.Options), &raw); err != nil {
				t.Fatal(err)
			}
		}
		o, list := readOptions(raw)
		if len(list) != 0 {
			t.Fatal(list)
		}
		got, err := judged(`{"name":"n","supportedInterfaces":[`+tt.interfaces+`]}`, &o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if is := strings.Join([]string{string(got.Iface.ProtocolBinding), string(got.Iface.ProtocolVersion), got.Iface.URL}, " "); is != tt.want {
			t.Errorf("%s: %s, want %s", name, is, tt.want)
		}
	}
}

func TestCardsOf03AreRead(t *testing.T) {
	t.Parallel()
	o := defaultOptions()
	o.allowV03 = true
	for card, want := range map[string]string{
		`{"name":"n","url":"https://a.example/x","protocolVersion":"0.3.0"}`:                                                                                  "JSONRPC https://a.example/x",
		`{"name":"n","url":"https://a.example/x","preferredTransport":"HTTP+JSON"}`:                                                                           "HTTP+JSON https://a.example/x",
		`{"name":"n","url":"https://a.example/x","preferredTransport":"GRPC","additionalInterfaces":[{"url":"https://a.example/y","transport":"HTTP+JSON"}]}`: "HTTP+JSON https://a.example/y",
	} {
		got, err := judged(card, &o)
		if err != nil {
			t.Errorf("%s: %v", card, err)
			continue
		}
		if is := string(got.Iface.ProtocolBinding) + " " + got.Iface.URL; is != want || got.Iface.ProtocolVersion != "0.3" {
			t.Errorf("%s: %s of %s, want %s", card, is, got.Iface.ProtocolVersion, want)
		}
	}
}

// Invalid fields that the runtime does not need do not invalidate a card.
func TestACardIsReadTolerantly(t *testing.T) {
	t.Parallel()
	got, err := ParseCard([]byte(`{"name":"n","unknown":{},"securitySchemes":{"x":{"new":{}}},"skills":"none","capabilities":null,"supportedInterfaces":[null]}`))
	if err != nil || got.Name != "n" || len(got.SupportedInterfaces) != 1 {
		t.Errorf("card %+v, %v", got, err)
	}
}

func TestAnswersThatAreNoCard(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answer http.HandlerFunc
		want   string
	}{
		"nothing there":  {http.NotFound, "fetch the agent card: the peer answers 404 Not Found"},
		"a page":         {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/html") }, `fetch the agent card: the peer answers with content of type "text/html", not with JSON`},
		"a flood":        {func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, MaxCard+1)) }, "fetch the agent card: the agent card of the peer is larger than 262144 bytes"},
		"not changed":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) }, "fetch the agent card: the peer answers 304 Not Modified"},
		"something else": {func(w http.ResponseWriter, _ *http.Request) { peertest.WriteJSON(w, []int{1}) }, "the agent card cannot be used: not a JSON object"},
	} {
		h := peertest.NewHost(t)
		h.Answer(tt.answer, nil)
		_, err := reach(t, h.Endpoint("")).Connect(t.Context())
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: error is %q, want %q", name, err, tt.want)
		}
	}
}

func TestOriginsAreComparedInOneForm(t *testing.T) {
	t.Parallel()
	o := defaultOptions()
	trusted := trustedOrigins(&spec.Endpoint{BaseURL: "https://A.example./x"}, &o)
	for raw, want := range map[string]bool{
		"https://a.example": true, "https://a.example:443/y?z": true, "HTTPS://A.EXAMPLE": true,
		"http://a.example": false, "https://a.example:444": false, "https://b.a.example": false, "https://a.example@b.example": false,
	} {
		if got := trusted.has(httptest.NewRequest(http.MethodGet, raw, nil).URL); got != want {
			t.Errorf("%s: %t", raw, got)
		}
	}
}

// No card makes the parser or the choice panic, and the SDK accepts the chosen interface.
func FuzzCard(f *testing.F) {
	card, _ := json.Marshal(peertest.CardOf("https://a.example"))
	f.Add(card)
	f.Add([]byte(`{"name":"n","url":"https://a.example","protocolVersion":"0.3.0","additionalInterfaces":[null,{}],"skills":[null],"securitySchemes":{"a":null}}`))
	f.Add([]byte(`{"name":"n","supportedInterfaces":[null,{"protocolBinding":"grpc","protocolVersion":"1","url":"[::1"}]}`))
	o := defaultOptions()
	o.allowV03 = true
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := judged(string(data), &o)
		if err != nil {
			return
		}
		if got.Iface == nil || got.URL == nil || got.Iface.ProtocolVersion != Version1 && got.Iface.ProtocolVersion != Version03 {
			t.Fatalf("chosen %+v", got)
		}
		if _, ok := bindingOf(got.Iface.ProtocolBinding); !ok || Origin(got.URL) != "https://a.example:443" {
			t.Fatalf("chosen %+v", got.Iface)
		}
		_, _ = signedPayloads(data)
	})
}
