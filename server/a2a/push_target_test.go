package a2a

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/store"
)

func TestSecretsAreSealedWhenThereIsAKey(t *testing.T) {
	t.Parallel()
	sender := func(key string) *PushSender {
		s, err := NewPushSender(PushSettings{Key: []byte(key)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	sealed, plain := sender(strings.Repeat("k", 32)), sender("")
	target := &pushTarget{URL: "https://hooks.example.com", Token: "tok", Scheme: "Bearer", Credentials: "s3cret", Version: v10, Agent: "helper"}
	data, err := sealed.sealTarget("t", "h", target)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"tok", "s3cret", "hooks", base64.StdEncoding.EncodeToString([]byte("s3cret"))} {
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("%q can be read in %s", secret, data)
		}
	}
	again, err := sealed.sealTarget("t", "h", target)
	if err != nil || bytes.Equal(again, data) {
		t.Error("it is the same text twice")
	}
	if got, err := sealed.openTarget(&store.Webhook{TurnID: "t", ID: "h", Data: data}); err != nil || *got != *target {
		t.Errorf("it is read as %v, %v", got, err)
	}
	open, err := plain.sealTarget("t", "h", target)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := sealed.openTarget(&store.Webhook{TurnID: "t", ID: "h", Data: open}); err != nil || *got != *target {
		t.Errorf("what was kept without a key is read as %v, %v", got, err)
	}
	flipped := bytes.Replace(data, []byte(`"sealed":"`), []byte(`"sealed":"AAAA`), 1)
	for name, c := range map[string]struct {
		by   *PushSender
		hook store.Webhook
	}{
		"another key":     {sender(strings.Repeat("x", 32)), store.Webhook{TurnID: "t", ID: "h", Data: data}},
		"no key":          {plain, store.Webhook{TurnID: "t", ID: "h", Data: data}},
		"another webhook": {sealed, store.Webhook{TurnID: "t", ID: "other", Data: data}},
		"another turn":    {sealed, store.Webhook{TurnID: "u", ID: "h", Data: data}},
		"other bytes":     {sealed, store.Webhook{TurnID: "t", ID: "h", Data: flipped}},
		"few bytes":       {sealed, store.Webhook{TurnID: "t", ID: "h", Data: json.RawMessage(`{"sealed":"AA=="}`)}},
		"no JSON":         {sealed, store.Webhook{TurnID: "t", ID: "h", Data: json.RawMessage(`x`)}},
	} {
		if got, err := c.by.openTarget(&c.hook); !errors.Is(err, errPushSealed) {
			t.Errorf("with %s it is read as %v, %v", name, got, err)
		}
	}
	if _, err := NewPushSender(PushSettings{Key: []byte("short")}); err == nil {
		t.Error("a short key is taken")
	}
	if _, err := NewPushSender(PushSettings{AllowPrivate: []string{"*.internal"}}); err == nil {
		t.Error("a wildcard is taken")
	}
}
