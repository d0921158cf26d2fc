package auth_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/auth"
	"github.com/agentruntime/agentruntime/service"
	"pgregory.net/rapid"
)

const goodKey = "ark_good-good-good-good"

var newYear = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

func TestAHashIsReadAsItIsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		hash := auth.HashKey(rapid.String().Draw(rt, "key"))
		if read, err := auth.ParseKeyHash(hash.String()); err != nil || read != hash {
			rt.Errorf("%s is read as %s, %v", hash, read, err)
		}
	})
	for _, text := range []string{"", "sha256:", "sha256:abc", "md5:" + strings.Repeat("0", 64), "sha256:" + strings.Repeat("g", 64), "sha256:" + strings.Repeat("0", 66)} {
		if hash, err := auth.ParseKeyHash(text); err == nil || hash != (auth.KeyHash{}) {
			t.Errorf("%q is read as %s, %v", text, hash, err)
		}
	}
}

func TestAKeyIsGoodUntilItExpires(t *testing.T) {
	t.Parallel()
	now := newYear
	who := &server.Principal{Caller: service.Caller{Tenant: "t", Subject: "s"}, KeyID: "k"}
	k := auth.NewKeys([]auth.Key{
		{Hash: auth.HashKey(goodKey), Principal: who, Expires: newYear.Add(time.Hour)},
		{Hash: auth.HashKey(goodKey), Principal: &server.Principal{KeyID: "another"}},
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
	one, two := auth.NewKey(), auth.NewKey()
	if one == two || !strings.HasPrefix(one, "ark_") || len(one) != len("ark_")+43 {
		t.Errorf("%s, %s", one, two)
	}
}

func FuzzParseKeyHash(f *testing.F) {
	f.Add(auth.HashKey("x").String())
	f.Add("sha256:é")
	f.Fuzz(func(t *testing.T, text string) {
		if hash, err := auth.ParseKeyHash(text); err == nil && !strings.EqualFold(hash.String(), text) {
			t.Errorf("%q is read as %s", text, hash)
		}
	})
}
