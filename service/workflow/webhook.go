package workflow

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/workflow"
)

// The headers of signed requests, as Standard Webhooks has them.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

// ErrSignature reports that a request is not signed with the secret of the webhook, or is
// too old, or that there is no such webhook: the three look alike.
var ErrSignature = errors.New("the request is not signed as it must be, or too old")

// Receive makes the run that a signed request begins, and reports whether it is new: a
// request that is sent again begins no other. The signature is that of Standard Webhooks:
// an HMAC-SHA256 of the id, the time and the body.
func (e *Engine) Receive(ctx context.Context, id string, header http.Header, body []byte) (isNew bool, err error) {
	declared, revision := e.settings.Source.Workflows()
	for _, w := range declared {
		for i := range w.Webhooks {
			h := &w.Webhooks[i]
			if w.WebhookID(h) != id {
				continue
			}
			if err := checkSignature(h, header, body, e.now()); err != nil {
				return false, err
			}
			if h.Paused {
				return false, nil
			}
			tenant, subject := w.Owner()
			d := definition{id: id, flow: w, owner: store.Owner{Tenant: tenant, Subject: subject}, declared: true, revision: revision}
			return e.beginByWebhook(ctx, &d, h, header, body)
		}
	}
	return false, ErrSignature
}

// beginByWebhook makes the run of a request whose signature is right.
func (e *Engine) beginByWebhook(ctx context.Context, d *definition, h *workflow.Webhook, header http.Header, body []byte) (isNew bool, err error) {
	now := e.now()
	ev := Event{ID: header.Get(headerID), Type: h.EventType(), Source: "webhook:" + d.id, DataContentType: header.Get("Content-Type"), Data: body}
	if !json.Valid(body) {
		if ev.Data, err = json.Marshal(string(body)); err != nil {
			return false, &service.InvalidError{Field: "body", Problem: err.Error()}
		}
	}
	if err := ev.complete(now); err != nil {
		return false, err
	}
	run, err := d.newRun(ev.runID(ByWebhook, d.id), &Trigger{Kind: ByWebhook, ID: d.id, Event: &ev}, ev.Data, now)
	if err != nil {
		return false, err
	}
	n, err := e.createRuns(ctx, []*store.WorkflowRun{run})
	return n > 0, err
}

// checkSignature checks that a request was signed with a secret of the webhook, lately.
func checkSignature(h *workflow.Webhook, header http.Header, body []byte, now time.Time) error {
	id, at := header.Get(headerID), header.Get(headerTimestamp)
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || id == "" || h.Secret == "" {
		return ErrSignature
	}
	if apart := now.Sub(time.Unix(seconds, 0)); apart > h.ToleranceTime() || apart < -h.ToleranceTime() {
		return ErrSignature
	}
	for _, one := range strings.Fields(header.Get(headerSignature)) {
		version, signature, _ := strings.Cut(one, ",")
		if version != "v1" {
			continue
		}
		for _, secret := range []string{h.Secret, h.Previous} {
			if secret != "" && subtle.ConstantTimeCompare([]byte(signature), []byte(Sign(secret, id, at, body))) == 1 {
				return nil
			}
		}
	}
	return ErrSignature
}

// Sign returns the signature of a request by a secret, without its version.
func Sign(secret, id, timestamp string, body []byte) string {
	key := []byte(secret)
	if encoded, ok := strings.CutPrefix(secret, "whsec_"); ok {
		if plain, err := base64.StdEncoding.DecodeString(encoded); err == nil {
			key = plain
		}
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(id + "." + timestamp + "."))
	mac.Write(body)
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
