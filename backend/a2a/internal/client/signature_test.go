package client

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/go-jose/go-jose/v4"
	"github.com/gowebpki/jcs"

	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
)

// signedBy returns a signature of a card's canonical form.
func signedBy(t *testing.T, card string, alg jose.SignatureAlgorithm, key any, kid string) a2a.AgentCardSignature {
	t.Helper()
	payload, err := jcs.Transform([]byte(card))
	if err != nil {
		t.Fatal(err)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: jose.JSONWebKey{Key: key, KeyID: kid}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	compact, err := signed.DetachedCompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	protected, signature, _ := strings.Cut(compact, "..")
	return a2a.AgentCardSignature{Protected: protected, Signature: signature}
}

// with returns a card with signatures.
func with(t *testing.T, card string, signatures ...a2a.AgentCardSignature) []byte {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(card), &fields); err != nil {
		t.Fatal(err)
	}
	fields["signatures"], _ = json.Marshal(signatures)
	data, err := json.Marshal(fields)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func keySet(public crypto.PublicKey, kid string) *jose.JSONWebKeySet {
	return &jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: kid}}}
}

const signedCard = `{"version":"1.0","name":"Übersetzer","n":1e2,"capabilities":{"streaming":true}}`

func TestCardsAreSignedByKnownKeys(t *testing.T) {
	t.Parallel()
	ec, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	_, ed, _ := ed25519.GenerateKey(rand.Reader)
	rs, _ := rsa.GenerateKey(rand.Reader, 2048)
	other, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	es := signedBy(t, signedCard, jose.ES256, ec, "k")
	foreign := signedBy(t, signedCard, jose.ES256, other, "k")
	forged := signedBy(t, signedCard, jose.HS256, []byte(strings.Repeat("k", 32)), "k")
	for name, tt := range map[string]struct {
		card []byte
		keys *jose.JSONWebKeySet
		want error
	}{
		"ES256":                  {with(t, signedCard, es), keySet(ec.Public(), "k"), nil},
		"EdDSA":                  {with(t, signedCard, signedBy(t, signedCard, jose.EdDSA, ed, "k")), keySet(ed.Public(), "k"), nil},
		"RS256":                  {with(t, signedCard, signedBy(t, signedCard, jose.RS256, rs, "k")), keySet(rs.Public(), "k"), nil},
		"one of two":             {with(t, signedCard, foreign, es), keySet(ec.Public(), "k"), nil},
		"no key named":           {with(t, signedCard, signedBy(t, signedCard, jose.ES256, ec, "")), keySet(ec.Public(), "k"), nil},
		"empty values":           {with(t, `{"version":"1.0","name":"Übersetzer","n":100.0,"capabilities":{"streaming":true,"extensions":[]},"iconUrl":"","provider":null}`, es), keySet(ec.Public(), "k"), nil},
		"no signature":           {[]byte(signedCard), keySet(ec.Public(), "k"), ErrUnsigned},
		"another key":            {with(t, signedCard, foreign), keySet(ec.Public(), "k"), errWrongSignature},
		"an unknown key":         {with(t, signedCard, es), keySet(ec.Public(), "other"), errUnknownKey},
		"a changed card":         {with(t, strings.Replace(signedCard, "true", "false", 1), es), keySet(ec.Public(), "k"), errWrongSignature},
		"an added field":         {with(t, strings.Replace(signedCard, `"n":`, `"evil":1,"n":`, 1), es), keySet(ec.Public(), "k"), errWrongSignature},
		"a key that is a secret": {with(t, signedCard, forged), keySet(ec.Public(), "k"), errNotJWS},
		"a signature of no kind": {with(t, signedCard, a2a.AgentCardSignature{Protected: "eyJhbGciOiJub25lIn0", Signature: ""}), keySet(ec.Public(), "k"), errNotJWS},
		"an invalid signature":   {with(t, signedCard, a2a.AgentCardSignature{Protected: ".", Signature: "x.y"}), keySet(ec.Public(), "k"), errNotJWS},
	} {
		card, err := ParseCard(tt.card)
		if err != nil {
			t.Fatal(err)
		}
		err = checkSignatures(tt.card, card.Signatures, signaturesRequired, tt.keys)
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
		optional := checkSignatures(tt.card, card.Signatures, signaturesIfPresent, tt.keys)
		if want := tt.want; !errors.Is(want, ErrUnsigned) && !errors.Is(optional, want) || errors.Is(want, ErrUnsigned) && optional != nil {
			t.Errorf("%s, if present: %v", name, optional)
		}
		if err := checkSignatures(tt.card, card.Signatures, SignaturesOff, tt.keys); err != nil {
			t.Errorf("%s, off: %v", name, err)
		}
	}
}

// The card in use is always verified; a later unverified card never replaces it.
func TestOnlyAVerifiedCardIsUsed(t *testing.T) {
	t.Parallel()
	ec, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	h := peertest.NewHost(t)
	plain, _ := json.Marshal(peertest.CardOf(h.URL))
	good := with(t, string(plain), signedBy(t, string(plain), jose.ES256, ec, "k"))
	serve := func(card []byte) {
		h.Answer(func(w http.ResponseWriter, _ *http.Request) { peertest.WriteJSON(w, json.RawMessage(card)) }, nil)
	}
	keys, _ := json.Marshal(keySet(ec.Public(), "k"))
	p := reach(t, h.Endpoint(`{"signatures":"required","signature_keys":`+string(keys)+`}`))
	serve(plain)
	if _, err := p.Connect(t.Context()); !errors.Is(err, ErrUnsigned) {
		t.Errorf("error is %v", err)
	}
	serve(good)
	if _, err := p.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	serve([]byte(strings.Replace(string(good), "Translates.", "Steals.", 1)))
	if conn, err := p.Connect(t.Context()); err != nil || conn.Card.Description != "Translates." {
		t.Errorf("the card was replaced, %v", err)
	}
	p.cards.invalidateCard()
	if _, err := p.Connect(t.Context()); !isSignature(err) {
		t.Errorf("error is %v", err)
	}
}

func isSignature(err error) bool {
	_, ok := errors.AsType[*SignatureError](err)
	return ok
}

// The JavaScript SDK, which omits empty values from the signed content, signed this card; the
// second card is from a server that writes them.
func TestASignatureOfTheJavaScriptSDKIsRight(t *testing.T) {
	t.Parallel()
	const signature = `"signatures":[{"protected":"eyJhbGciOiJFUzI1NiIsImtpZCI6ImpzIiwidHlwIjoiSk9TRSJ9","signature":"nHASN-56MkNjGJY8-D98XoUj2KH-LZrdeunsW_ObEtB5_ubbZ-pOtDDxCbwac9ze-EhakwGPEFrURf3PpwXMdQ"}]`
	var keys jose.JSONWebKeySet
	if err := json.Unmarshal([]byte(`{"keys":[{"kty":"EC","crv":"P-256","kid":"js","x":"TB1eTez_netiKTCj8kGwUlwg-knhShrG8Sk_sX1O8KE","y":"NLa3rdivnmEXm7QT09hLUNZhpqh6sgZ86HORhjdtXfU"}]}`), &keys); err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{
		`{"name":"Signed","supportedInterfaces":[{"url":"https://a.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0"}],"version":"1.0.0","capabilities":{"streaming":false,"pushNotifications":false},"defaultInputModes":["text/plain"],"skills":[{"id":"t","name":"Übersetzen","description":"Translates €.","tags":["text"]}],` + signature + `}`,
		`{"name":"Signed","description":"","supportedInterfaces":[{"url":"https://a.example/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0","tenant":""}],"version":"1.0.0","capabilities":{"streaming":false,"pushNotifications":false},"defaultInputModes":["text/plain"],"defaultOutputModes":[],"skills":[{"id":"t","name":"Übersetzen","description":"Translates €.","tags":["text"],"examples":[]}],` + signature + `}`,
	} {
		card, err := ParseCard([]byte(data))
		if err != nil {
			t.Fatal(err)
		}
		if err := checkSignatures([]byte(data), card.Signatures, signaturesRequired, &keys); err != nil {
			t.Error(err)
		}
	}
}
