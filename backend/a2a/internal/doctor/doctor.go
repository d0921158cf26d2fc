package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/zap"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/spec"
)

// examinationTimeout limits each request of an examination.
const examinationTimeout = 10 * time.Second

// Examine inspects the peer of an endpoint: its card, and how each interface answers calls for
// nonexistent tasks.
func Examine(ctx context.Context, e *spec.Endpoint, header map[string][]string) (*backend.Examination, error) {
	if list := append(e.Validate(), client.Validate(e)...); list.HasErrors() {
		return nil, list.Err()
	}
	p, err := client.New(e, zap.NewNop())
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }()
	p.SetIdleTimeout(examinationTimeout)
	if len(header) > 0 {
		p.Authorize(header)
	}
	x := &examiner{peer: p, cardURL: p.CardURL, credential: len(header) > 0 || e.Auth != nil, found: &backend.Examination{Peer: e.BaseURL}}
	x.checkAll(ctx)
	return x.found, ctx.Err()
}

// checkAll runs all checks that the peer allows.
func (x *examiner) checkAll(ctx context.Context) {
	x.checkAddress()
	if x.checkList(ctx, func(one *examiner, card []byte) { one.checkCard(ctx, card) }) {
		return
	}
	got := x.fetchCard(ctx)
	if got == nil {
		return
	}
	x.checkCaching(ctx, got)
	x.checkCard(ctx, got.body)
}

// checkCard checks a card and the peer that it describes.
func (x *examiner) checkCard(ctx context.Context, data []byte) {
	card := x.checkShape(data)
	if card == nil {
		return
	}
	if x.agent == "" {
		x.found.Name = client.CleanText(card.Name, client.MaxName)
	}
	x.checkFields(card)
	x.checkSignatures(card, data)
	interfaces := x.checkInterfaces(card)
	x.checkChoice(card)
	for _, i := range interfaces {
		x.checkCalls(ctx, card, i)
	}
}

// checkAddress checks the peer's URL.
func (x *examiner) checkAddress() {
	base, err := url.Parse(x.peer.Endpoint.BaseURL)
	switch {
	case err != nil: // Validate has parsed it
	case base.Scheme == "https":
		x.addPass("address", "https")
	case client.NamesMachine(base.Hostname()):
		x.addPass("address", "http, to an address that is written as one")
	default:
		x.addWarning("address", "https", "http: anyone on the network path can read the requests and their credentials")
	}
}

// fetchCard checks the card's location and how it is served. It returns nil without a card.
func (x *examiner) fetchCard(ctx context.Context) *seen {
	const name = "card location"
	want := "an agent card at " + redact.URL(x.cardURL.String())
	got, err := x.getURL(ctx, x.cardURL, "")
	if large, ok := errors.AsType[*client.TooLargeError](err); ok {
		x.addFailure("card size", fmt.Sprintf("at most %d bytes", large.Limit), "more than %d bytes", large.Limit)
		return nil
	}
	switch {
	case err != nil:
		x.addFailure(name, "a peer that answers", "%v", err)
		return nil
	case got.status == http.StatusUnauthorized || got.status == http.StatusForbidden:
		x.addFailure(name, "a public card, or a credential (--header)", "status %d; WWW-Authenticate: %q", got.status, got.header.Get("WWW-Authenticate"))
		return nil
	case got.status/100 == 3:
		x.addFailure(name, want+"; redirects are not followed", "status %d, a redirect to %q", got.status, got.header.Get("Location"))
		return nil
	case got.status != http.StatusOK:
		return x.probeElsewhere(ctx, got.status)
	}
	x.addPass(name, "%s", redact.URL(x.cardURL.String()))
	x.contentType(got)
	return got
}

// probeElsewhere looks for the card in places where peers put it by mistake.
func (x *examiner) probeElsewhere(ctx context.Context, status int) *seen {
	want := "an agent card at " + redact.URL(x.cardURL.String())
	for _, place := range []string{client.WellKnown, "/.well-known/agent.json"} {
		other, err := x.cardURL.Parse(place)
		if err != nil || other.String() == x.cardURL.String() {
			continue
		}
		got, err := x.getURL(ctx, other, "")
		if err == nil && got.status == http.StatusOK && client.IsJSON(got.kind) {
			x.addFailure("card location", want+", or the option card_url", "status %d; there is a card at %s", status, other)
			x.contentType(got)
			x.cardURL = other
			return got
		}
	}
	x.addFailure("card location", want, "status %d", status)
	return nil
}

// contentType checks the card's content type.
func (x *examiner) contentType(got *seen) {
	switch {
	case client.IsJSON(got.kind):
		x.addPass("card content type", "%s", got.kind)
	case got.kind == "" || got.kind == client.TypePlain || got.kind == "application/octet-stream":
		x.addWarning("card content type", client.TypeJSON, "%q", got.kind)
	default:
		x.addFailure("card content type", client.TypeJSON, "%q", got.kind)
	}
}

// checkCaching checks whether the card can be cached and revalidated.
func (x *examiner) checkCaching(ctx context.Context, got *seen) {
	const name, want = "card caching", "an ETag, an answer of 304 to If-None-Match, and Cache-Control: max-age"
	tag, age := got.header.Get("ETag"), client.MaxAge(got.header)
	if tag == "" {
		x.addWarning(name, want, "no ETag, Cache-Control: %q", got.header.Get("Cache-Control"))
		return
	}
	again, err := x.getURL(ctx, x.cardURL, tag)
	switch {
	case err != nil:
		x.addWarning(name, want, "asked again with its ETag: %v", err)
	case again.status != http.StatusNotModified:
		x.addWarning(name, want, "asked again with its ETag: status %d", again.status)
	case age < 0:
		x.addWarning(name, want, "an ETag, but no max-age")
	default:
		x.addPass(name, "an ETag, and valid for %s", age)
	}
}

// checkChoice checks how the runtime would use the card.
func (x *examiner) checkChoice(card *a2a.AgentCard) {
	to, err := x.peer.Choose(card)
	if err != nil {
		problem := err.Error()
		if bad, ok := errors.AsType[*client.CardError](err); ok {
			problem = bad.Problem // without problems of its interfaces
		}
		x.addFailure("choice", "an interface of version 1 by JSONRPC, HTTP+JSON or GRPC, at the origin of the card", "%s", problem)
		return
	}
	x.addPass("choice", "the runtime speaks %s of version %s at %s", to.Iface.ProtocolBinding, to.Declared, to.Iface.URL)
}
