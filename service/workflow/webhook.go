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
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/tools"
)

// The headers of signed requests, by Standard Webhooks.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

// ErrSignature means that a request is not signed with the secret of the webhook, is too old, or
// names an unknown webhook. Callers cannot distinguish the three.
var ErrSignature = errors.New("the request is not signed as it must be, or too old")

// Received is a request to a webhook.
type Received struct {
	// Tenant is the owner of the webhook. Empty means a webhook declared in the configuration.
	Tenant string
	// ID is the id of the webhook.
	ID     string
	Header http.Header
	Body   []byte
}

// Receive creates the run for a signed request, and reports whether it is new: a repeated request
// starts no second run. The signature follows Standard Webhooks: an HMAC-SHA256 of id, time and
// body.
func (e *Engine) Receive(ctx context.Context, r *Received) (isNew bool, err error) {
	declared, err := e.settings.Source.Workflows(ctx, "") // strangers may trigger this: it builds no revision
	if err != nil {
		return false, err
	}
	for _, w := range declared {
		owner := ownerOfWorkflow(w.Workflow)
		if r.Tenant == "" && w.Own || r.Tenant != "" && r.Tenant != owner.Tenant {
			continue
		}
		for i := range w.Webhooks {
			h := &w.Webhooks[i]
			if w.WebhookID(h) != r.ID {
				continue
			}
			if err := e.checkSignature(ctx, owner.Tenant, h, r); err != nil {
				return false, err
			}
			if h.Paused {
				return false, nil
			}
			d := definition{id: r.ID, flow: w.Workflow, owner: owner, declared: true}
			return e.beginByWebhook(ctx, &d, h, r)
		}
	}
	return false, ErrSignature
}

// beginByWebhook creates the run for a request with a valid signature.
func (e *Engine) beginByWebhook(ctx context.Context, d *definition, h *workflow.Webhook, r *Received) (isNew bool, err error) {
	now := e.now()
	ev := Event{ID: r.Header.Get(headerID), Type: h.EventType(), Source: "webhook:" + d.id, DataContentType: r.Header.Get("Content-Type"), Data: r.Body}
	if !json.Valid(r.Body) {
		if ev.Data, err = json.Marshal(string(r.Body)); err != nil {
			return false, &service.InvalidError{Field: "body", Problem: err.Error()}
		}
	}
	if err := ev.complete(now); err != nil {
		return false, err
	}
	run, err := e.newRun(ctx, d, ev.runID(ByWebhook, d.id), &Trigger{Kind: ByWebhook, ID: d.id, Event: &ev}, ev.Data, now)
	if err != nil {
		return false, err
	}
	if run == nil {
		return false, ErrSignature // the webhook is gone
	}
	ids, err := e.createRuns(ctx, []*store.WorkflowRun{run})
	return len(ids) > 0, err
}

// checkSignature checks that a request was recently signed with a secret of the webhook.
func (e *Engine) checkSignature(ctx context.Context, tenant string, h *workflow.Webhook, r *Received) error {
	id, at := r.Header.Get(headerID), r.Header.Get(headerTimestamp)
	seconds, err := strconv.ParseInt(at, 10, 64)
	if err != nil || id == "" {
		return ErrSignature
	}
	if apart := e.now().Sub(time.Unix(seconds, 0)); apart > h.ToleranceTime() || apart < -h.ToleranceTime() {
		return ErrSignature
	}
	secrets, err := e.readSecrets(ctx, tenant, h)
	if err != nil {
		return err
	}
	for _, one := range strings.Fields(r.Header.Get(headerSignature)) {
		version, signature, _ := strings.Cut(one, ",")
		if version != "v1" {
			continue
		}
		for _, secret := range secrets {
			if subtle.ConstantTimeCompare([]byte(signature), []byte(Sign(secret, id, at, r.Body))) == 1 {
				return nil
			}
		}
	}
	return ErrSignature
}

// readSecrets returns the secrets of a webhook, without references to variables that the tenant
// has not set.
func (e *Engine) readSecrets(ctx context.Context, tenant string, h *workflow.Webhook) (secrets []string, err error) {
	for _, text := range []spec.Template{h.Secret, h.Previous} {
		secret, err := string(text), error(nil)
		if text.HasReferences() {
			secret, err = e.settings.Turns.FillForTenant(ctx, tenant, text)
		}
		problem, isUnset := errors.AsType[*tools.TenantVariableError](err)
		switch {
		case isUnset && problem.Err == nil:
		case err != nil:
			return nil, err
		case secret != "":
			secrets = append(secrets, secret)
		}
	}
	return secrets, nil
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
