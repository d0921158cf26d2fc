package sealed_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentruntime/agentruntime/internal/sealed"
)

func box(t testing.TB, fill byte) *sealed.Box {
	t.Helper()
	b, err := sealed.New(bytes.Repeat([]byte{fill}, sealed.KeySize))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestASecretIsReadByItsKeyAtItsPlaceAlone(t *testing.T) {
	t.Parallel()
	b, here := box(t, 'k'), sealed.Place("turn", "1")
	secret := json.RawMessage(`{"Authorization":"s3cret"}`)
	kept, err := b.Seal(here, secret)
	if err != nil || !json.Valid(kept) {
		t.Fatalf("%s, %v", kept, err)
	}
	for _, text := range []string{"s3cret", "Authorization", base64.StdEncoding.EncodeToString([]byte("s3cret"))} {
		if bytes.Contains(kept, []byte(text)) {
			t.Errorf("%q can be read in %s", text, kept)
		}
	}
	if again, err := b.Seal(here, secret); err != nil || bytes.Equal(again, kept) {
		t.Errorf("it is the same text twice: %s, %v", again, err)
	}
	if got, err := b.Open(here, kept); err != nil || !bytes.Equal(got, secret) {
		t.Errorf("it is read as %s, %v", got, err)
	}
	flipped := bytes.Replace(kept, []byte(`"sealed":"`), []byte(`"sealed":"AAAA`), 1)
	for name, tt := range map[string]struct {
		by    *sealed.Box
		place string
		kept  json.RawMessage
	}{
		"another key":        {box(t, 'x'), here, kept},
		"no key":             {nil, here, kept},
		"another place":      {b, sealed.Place("turn", "2"), kept},
		"parts in one":       {b, "turn1", kept},
		"other bytes":        {b, here, flipped},
		"less than a nonce":  {b, here, json.RawMessage(`{"sealed":"AA=="}`)},
		"nothing but nonces": {b, here, json.RawMessage(`{"sealed":"AAAAAAAAAAAAAAAA"}`)},
	} {
		if got, err := tt.by.Open(tt.place, tt.kept); !errors.Is(err, sealed.ErrOpen) {
			t.Errorf("with %s it is read as %s, %v", name, got, err)
		}
	}
}

func TestWhatWasKeptWithoutAKeyIsReadAsItIs(t *testing.T) {
	t.Parallel()
	var none *sealed.Box
	for _, text := range []string{`{"a":1}`, `[1]`, `{"sealed":""}`, `{"sealed":5}`, `null`, ``} {
		kept, err := none.Seal("here", json.RawMessage(text))
		if err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string]*sealed.Box{"a key": box(t, 'k'), "no key": nil} {
			if got, err := b.Open("here", kept); err != nil || string(got) != text {
				t.Errorf("%s is read with %s as %s, %v", text, name, got, err)
			}
		}
	}
}

func TestKeysThatAreNone(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, sealed.KeySize - 1, sealed.KeySize + 1} {
		if _, err := sealed.New(make([]byte, n)); !errors.Is(err, sealed.ErrKey) {
			t.Errorf("%d bytes give %v", n, err)
		}
	}
	if b, err := sealed.New(nil); b != nil || err != nil {
		t.Errorf("no key gives %v, %v", b, err)
	}
}

func TestWhateverIsSealedIsReadAgain(t *testing.T) {
	t.Parallel()
	b := box(t, 'k')
	rapid.Check(t, func(t *rapid.T) {
		place, plain := rapid.String().Draw(t, "place"), rapid.SliceOf(rapid.Byte()).Draw(t, "plain")
		kept, err := b.Seal(place, plain)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := b.Open(place, kept); err != nil || !bytes.Equal(got, plain) {
			t.Fatalf("it is read as %q, %v", got, err)
		}
	})
}

func FuzzOpen(f *testing.F) {
	b := box(f, 'k')
	f.Add([]byte(`{"sealed":"AAAAAAAAAAAAAAAAAAAA"}`))
	f.Add([]byte(`{"sealed":[1,2]}`))
	f.Fuzz(func(t *testing.T, kept []byte) {
		got, err := b.Open("here", kept)
		if err == nil && !bytes.Equal(got, kept) {
			t.Errorf("%q is read as %q, and nobody sealed it", kept, got)
		}
	})
}
