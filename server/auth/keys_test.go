package server_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server"
	"pgregory.net/rapid"
)

func TestAHashIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		hash := server.HashKey(rapid.String().Draw(rt, "key"))
		if read, err := server.ParseKeyHash(hash.String()); err != nil || read != hash {
			rt.Errorf("%s is read as %s, %v", hash, read, err)
		}
	})
	for _, text := range []string{"", "sha256:", "sha256:abc", "md5:" + strings.Repeat("0", 64), "sha256:" + strings.Repeat("g", 64), "sha256:" + strings.Repeat("0", 66)} {
		if hash, err := server.ParseKeyHash(text); err == nil || hash != (server.KeyHash{}) {
			t.Errorf("%q is read as %s, %v", text, hash, err)
		}
	}
}

func TestAKeyIsGoodUntilItExpires(t *testing.T) {
	t.Parallel()
	now := newYear
	who := &server.Principal{Caller: runtime.Caller{Tenant: "t", Subject: "s"}, KeyID: "k"}
	k := server.NewKeys([]server.Key{
		{Hash: server.HashKey(goodKey), Principal: who, Expires: newYear.Add(time.Hour)},
		{Hash: server.HashKey(goodKey), Principal: &server.Principal{KeyID: "another"}},
	}, func() time.Time { return now })
	r := &http.Request{Header: http.Header{"X-Api-Key": {goodKey}}}
	if p, err := k.Authenticate(r); p != who || err != nil {
		t.Errorf("%v, %v", p, err)
	}
	now = newYear.Add(time.Hour)
	_, err := k.Authenticate(r)
	var bad *server.CredentialError
	if !errors.As(err, &bad) || bad.KeyID != "k" || bad.Missing || strings.Contains(err.Error(), goodKey) {
		t.Errorf("%+v", err)
	}
}

func TestFreshKeysAreNeverTheSame(t *testing.T) {
	t.Parallel()
	one, two := server.NewKey(), server.NewKey()
	if one == two || !strings.HasPrefix(one, "ark_") || len(one) != len("ark_")+43 {
		t.Errorf("%s, %s", one, two)
	}
}

func FuzzParseKeyHash(f *testing.F) {
	f.Add(server.HashKey("x").String())
	f.Add("sha256:é")
	f.Fuzz(func(t *testing.T, text string) {
		if hash, err := server.ParseKeyHash(text); err == nil && !strings.EqualFold(hash.String(), text) {
			t.Errorf("%q is read as %s", text, hash)
		}
	})
}
