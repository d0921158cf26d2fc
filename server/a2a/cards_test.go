package a2a_test

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"flag"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient/agentcard"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/agentruntime/agentruntime/registry"
	a2aserver "github.com/agentruntime/agentruntime/server/a2a"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"
	"github.com/gowebpki/jcs"
)

var update = flag.Bool("update", false, "write the golden files anew")

// published makes the cards of a world those that the golden files have.
func published(s *setup) {
	s.settings.PublicURL = "https://agents.example.com/"
	s.settings.GRPCURL = "agents.example.com:443"
	s.settings.Organization, s.settings.OrganizationURL = "ACME", "https://example.com"
	s.settings.DefaultAgent = "clerk"
}

func TestCardsSayHowAnAgentIsReached(t *testing.T) {
	for name, both := range map[string]bool{"card.json": false, "card_0.3.json": true} {
		w := open(t, published, func(s *setup) { s.settings.V03 = both })
		resp, body := w.do(http.MethodGet, "/a2a/clerk/.well-known/agent-card.json", "", "Authorization", "")
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: the card is %d %s", name, resp.StatusCode, body)
		}
		golden(t, name, body)
		_, root := w.do(http.MethodGet, "/.well-known/agent-card.json", "", "Authorization", "")
		if root != body {
			t.Errorf("%s: the card at the root is %s", name, root)
		}
	}
}

// golden compares JSON with what a file has.
func golden(t *testing.T, name, got string) {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(got), &value); err != nil {
		t.Fatal(err)
	}
	pretty, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, append(pretty, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(string(want)), string(pretty)); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", name, diff)
	}
}

func TestACardIsKeptUntilItChanges(t *testing.T) {
	w := open(t, published)
	resp, _ := w.do(http.MethodGet, "/a2a/clerk/.well-known/agent-card.json", "", "Origin", "https://evil.example")
	etag := resp.Header.Get("ETag")
	if etag == "" || resp.Header.Get("Cache-Control") != "public, max-age=300" || resp.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("the header is %v", resp.Header)
	}
	resp, body := w.do(http.MethodGet, "/a2a/clerk/.well-known/agent-card.json", "", "If-None-Match", `"x", W/`+etag)
	if resp.StatusCode != http.StatusNotModified || body != "" {
		t.Errorf("the card that is known is sent again: %d %s", resp.StatusCode, body)
	}
	if resp, _ := w.do(http.MethodGet, "/a2a/nobody/.well-known/agent-card.json", ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("the card of nobody is %d", resp.StatusCode)
	}
}

func TestTheRootHasACardIfItIsClearWhose(t *testing.T) {
	w := open(t)
	if resp, body := w.do(http.MethodGet, "/.well-known/agent-card.json", ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("of two agents the root shows %s", body)
	}
	w = open(t, func(s *setup) { s.agents = s.agents[1:] })
	if _, body := w.do(http.MethodGet, "/.well-known/agent-card.json", ""); !strings.Contains(body, `"name":"other"`) {
		t.Errorf("of the only agent the root shows %s", body)
	}
}

// The list has the cards of all local agents, as each is served by itself, and is
// kept until one of them changes.
func TestTheCardsOfAllAgentsAreListed(t *testing.T) {
	w := open(t, published, func(s *setup) {
		s.settings.DefaultAgent = ""
		s.agents = append(s.agents, spec.Agent{ID: "third", Description: "Answers."})
	})
	resp, body := w.do(http.MethodGet, "/.well-known/agents.json", "", "Authorization", "")
	var list struct{ Agents []json.RawMessage }
	if err := json.Unmarshal([]byte(body), &list); err != nil || resp.StatusCode != http.StatusOK || len(list.Agents) != 3 {
		t.Fatalf("the list is %d %s", resp.StatusCode, body)
	}
	for i, id := range []string{"clerk", "other", "third"} {
		if _, card := w.do(http.MethodGet, "/a2a/"+id+"/.well-known/agent-card.json", ""); card != string(list.Agents[i]) {
			t.Errorf("the card of %s is %s, and in the list %s", id, card, list.Agents[i])
		}
	}
	etag := resp.Header.Get("ETag")
	if again, _ := w.do(http.MethodGet, "/.well-known/agents.json", "", "If-None-Match", etag); again.StatusCode != http.StatusNotModified {
		t.Errorf("the list that is known is sent again: %d", again.StatusCode)
	}
	if _, root := w.do(http.MethodGet, "/.well-known/agent-card.json", ""); !strings.Contains(root, "https://agents.example.com/.well-known/agents.json") {
		t.Errorf("the root does not say where the cards are: %s", root)
	}
	_, err := w.service.Runtime().Publish(t.Context(), func(d *registry.Draft) error {
		d.Agents.Put("third", &spec.Agent{ID: "third", Description: "Answers otherwise.", ModelID: "m"})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if changed, body := w.do(http.MethodGet, "/.well-known/agents.json", "", "If-None-Match", etag); changed.StatusCode != http.StatusOK || !strings.Contains(body, "otherwise") {
		t.Errorf("after a change the list is %d %s", changed.StatusCode, body)
	}
}

func TestTheSDKReadsTheCards(t *testing.T) {
	w := open(t, func(s *setup) { s.settings.V03 = true })
	for name, r := range map[string]*agentcard.Resolver{"1.0": {}, "0.3": {CardParser: a2av0.NewAgentCardParser()}} {
		card, err := r.Resolve(t.Context(), w.url+"/a2a/clerk")
		if err != nil || card.Name != "clerk" || len(card.SupportedInterfaces) != 5 || !card.Capabilities.Streaming {
			t.Errorf("version %s reads %+v, %v", name, card, err)
		}
	}
}

func TestThePrincipalSeesMore(t *testing.T) {
	budget := 100
	w := open(t, published, func(s *setup) {
		s.agents[0].Budgets = &spec.Budgets{MaxTokens: &budget}
		s.agents[0].Delegates = []string{"other"}
		s.settings.Credentials = accepting(a2aserver.Credentials{Keys: true, Issuer: "https://id.example", TokenURL: "https://a.example/token"})
	})
	for _, over := range transports {
		card, err := w.client("alice", "clerk", over).GetExtendedAgentCard(t.Context(), &a2a.GetExtendedAgentCardRequest{})
		if err != nil || len(card.Skills) != 2 || card.Skills[1].ID != "other" || card.Capabilities.Extensions[0].Params["max_tokens"] != 100.0 || len(card.SecuritySchemes) != 4 {
			t.Errorf("%s: the card is %+v, %v", over, card, err)
		}
	}
	if _, body := w.do(http.MethodGet, "/a2a/clerk/.well-known/agent-card.json", ""); strings.Contains(body, "max_tokens") {
		t.Errorf("everybody sees the budgets: %s", body)
	}
}

func TestACardIsSigned(t *testing.T) {
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string]any{"ES256": curve, "EdDSA": edwards} {
		for _, both := range []bool{false, true} {
			signer := signerWith(t, key)
			w := open(t, func(s *setup) { s.settings.Signer, s.settings.V03 = signer, both })
			_, body := w.do(http.MethodGet, "/a2a/clerk/.well-known/agent-card.json", "")
			var card a2a.AgentCard
			if err := json.Unmarshal([]byte(body), &card); err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{false: 1, true: 2}[both]; len(card.Signatures) != want {
				t.Fatalf("%s: there are %d signatures", name, len(card.Signatures))
			}
			checkSignature(t, name, signer, card.Signatures[0], canonicalCard(t, body))
			if !both {
				continue
			}
			var fields map[string]json.RawMessage
			if err := json.Unmarshal([]byte(body), &fields); err != nil {
				t.Fatal(err)
			}
			delete(fields, "signatures")
			received, err := json.Marshal(fields)
			if err != nil {
				t.Fatal(err)
			}
			checkSignature(t, name, signer, card.Signatures[1], received)
		}
	}
}

// canonicalCard returns what the JavaScript SDK checks a signature against: the
// fields of version 1.0 that are not empty.
func canonicalCard(t *testing.T, body string) []byte {
	t.Helper()
	var fields map[string]any
	if err := json.Unmarshal([]byte(body), &fields); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"signatures", "securityRequirements", "additionalInterfaces", "url", "preferredTransport", "protocolVersion", "security", "supportsAuthenticatedExtendedCard"} {
		delete(fields, name) // the requirements name schemes without scopes: nothing is left of them
	}
	for _, scheme := range fields["securitySchemes"].(map[string]any) {
		for _, name := range []string{"type", "in", "name", "scheme", "description", "http", "apiKey"} {
			delete(scheme.(map[string]any), name)
		}
	}
	data, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func checkSignature(t *testing.T, algorithm string, signer *a2aserver.Signer, s a2a.AgentCardSignature, card []byte) {
	t.Helper()
	payload, err := jcs.Transform(card)
	if err != nil {
		t.Fatal(err)
	}
	data, err := signer.PublicKeys()
	if err != nil {
		t.Fatal(err)
	}
	var keys jose.JSONWebKeySet
	if err := json.Unmarshal(data, &keys); err != nil {
		t.Fatal(err)
	}
	signed, err := jose.ParseDetached(s.Protected+".."+s.Signature, payload, []jose.SignatureAlgorithm{jose.SignatureAlgorithm(algorithm)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := signed.Verify(keys.Key(signed.Signatures[0].Protected.KeyID)[0]); err != nil {
		t.Errorf("%s: the signature is wrong: %v", algorithm, err)
	}
}

func signerWith(t *testing.T, key any) *a2aserver.Signer {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := a2aserver.LoadSigner(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAKeyThatSignsNothingIsRefused(t *testing.T) {
	wrong, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(wrong)
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string][]byte{
		"no PEM": []byte("x"), "no key": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}),
		"another curve": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}),
	} {
		if _, err := a2aserver.NewSigner(key); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	if _, err := a2aserver.LoadSigner("nothing.pem"); err == nil {
		t.Error("a file that is not there is taken")
	}
}
