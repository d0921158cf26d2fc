package a2a

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/internal/sealed"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/webhook"
)

// PushSurface is the key of the PushSender in a service's webhooks.
const PushSurface = "a2a"

// defaultPushTimeout is how long a receiver may take to answer.
const defaultPushTimeout = 10 * time.Second

// The headers of a notification.
const (
	headerPushToken = "X-A2A-Notification-Token"
	// headerPushID is the same for each attempt to send a notification.
	headerPushID  = "X-A2A-Notification-Id"
	headerVersion = "A2A-Version"
)

// maxPushAnswer is how much of a response is read, in bytes, so that its connection can be reused.
const maxPushAnswer = 4 << 10

// PushSettings configures a PushSender.
type PushSettings struct {
	// AllowPrivate are the hosts that may receive notifications on a private network, in
	// netguard.New's format. They may use http; all others must use https and be public.
	AllowPrivate []string
	// Key is the 32-byte key that encrypts stored configurations. Without one, tokens and
	// credentials are stored in plain text.
	Key []byte
	// Timeout is how long a receiver may take; 0 means ten seconds.
	Timeout time.Duration
	// RootCAs are the accepted certificate authorities of receivers; nil means the system's.
	RootCAs *x509.CertPool

	_ struct{} // keyed literals only
}

// PushSender sends push notifications: whenever work on a task begins, it asks for something, or it
// ends. It is the service's sender for PushSurface, and safe for concurrent use.
type PushSender struct {
	guard   *netguard.Guard
	box     *sealed.Box
	client  *http.Client
	tasks   atomic.Pointer[handler]
	timeout time.Duration
}

var _ webhook.Sender = (*PushSender)(nil)

// NewPushSender returns a sender. It fails if the settings are invalid.
func NewPushSender(s PushSettings) (*PushSender, error) {
	guard, err := netguard.New(s.AllowPrivate...)
	if err != nil {
		return nil, err
	}
	box, err := sealed.New(s.Key)
	if err != nil {
		return nil, err
	}
	transport := netguard.Transport(guard)
	transport.TLSClientConfig = &tls.Config{RootCAs: s.RootCAs, MinVersion: tls.VersionTLS12}
	return &PushSender{
		guard: guard, box: box, timeout: cmp.Or(s.Timeout, defaultPushTimeout),
		client: &http.Client{
			Transport: transport,
			// The target of a redirect was never approved.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// Close closes idle connections.
func (s *PushSender) Close() { s.client.CloseIdleConnections() }

// Tells reports whether an event changes the status of a task.
func (s *PushSender) Tells(r *event.Record) bool {
	return r.Type == event.TypeRunStart || r.Type == event.TypeInteractionRequest || r.Type == event.TypeRunFinish
}

// Send sends a notification. The settings limit how long receivers may take.
func (s *PushSender) Send(ctx context.Context, d *webhook.Delivery) error {
	target, err := s.openTarget(d.Hook)
	if err != nil {
		return &webhook.DeliveryError{Cause: err, Final: true}
	}
	info := a2a.TaskInfo{TaskID: a2a.TaskID(event.ShownID(d.Record.TurnID)), ContextID: cmp.Or(target.Context, event.ShownID(d.Record.SessionID))}
	status, err := statusAt(d.Record, info)
	if err != nil {
		return &webhook.DeliveryError{Cause: err, Final: true}
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	body, kind, err := s.encodeNotification(ctx, d, target, info, status)
	if err != nil {
		return err
	}
	return s.postNotification(ctx, d, target, body, kind)
}

// statusAt returns the status of a task at an event.
func statusAt(r *event.Record, info a2a.TaskInfo) (*a2a.TaskStatus, error) {
	ev, err := r.Event()
	if err != nil {
		return nil, err
	}
	status := &a2a.TaskStatus{State: a2a.TaskStateWorking, Timestamp: &r.Time}
	switch d := ev.Data.(type) {
	case *event.InteractionRequest:
		asked := &service.Interaction{Request: d.Request}
		asked.ID, asked.TurnID = d.ID, r.TurnID
		status.State, status.Message = askState(&asked.Request), askMessage(info, asked)
	case *event.RunFinish:
		status.State, status.Message = endState(&d.Termination), endMessage(info, &d.Termination)
	}
	return status, nil
}

// encodeNotification returns the body and content type of a notification: the status, or in
// version 0.3 the task with its status.
func (s *PushSender) encodeNotification(ctx context.Context, d *webhook.Delivery, target *pushTarget, info a2a.TaskInfo, status *a2a.TaskStatus) ([]byte, string, error) {
	task := &a2a.Task{ID: info.TaskID, ContextID: info.ContextID}
	if target.Version != v03 {
		update := &a2a.TaskStatusUpdateEvent{TaskID: task.ID, ContextID: task.ContextID, Status: *status}
		data, err := json.Marshal(a2a.StreamResponse{Event: update})
		return data, "application/a2a+json", err
	}
	if h := s.tasks.Load(); h != nil && status.State.Terminal() {
		owner := d.Hook.Owner
		c := &call{handler: h, agent: target.Agent, caller: service.Caller{Tenant: owner.Tenant, Subject: owner.Subject}}
		turn, err := c.getTurn(ctx, task.ID)
		if err != nil {
			return nil, "", err
		}
		if task, err = c.toTask(ctx, turn, fullView(new(int))); err != nil {
			return nil, "", err
		}
	}
	task.Status = *status
	data, err := json.Marshal(a2av0.FromV1Task(task))
	return data, "application/json", err
}

// postNotification sends a notification and returns once the receiver has accepted it.
func (s *PushSender) postNotification(ctx context.Context, d *webhook.Delivery, target *pushTarget, body []byte, kind string) error {
	if s.checkURL(target.URL) != nil { // it was allowed once
		return &webhook.DeliveryError{Cause: errors.New("notifications are not sent to that URL any more"), Final: true}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target.URL, bytes.NewReader(body))
	if err != nil {
		return &webhook.DeliveryError{Cause: errors.New("the URL cannot be used"), Final: true}
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("User-Agent", "agentruntime")
	req.Header.Set(headerPushID, d.ID)
	req.Header.Set(headerVersion, string(cmp.Or(target.Version, v10)))
	if target.Token != "" {
		req.Header.Set(headerPushToken, target.Token)
	}
	if target.Scheme != "" && target.Credentials != "" {
		req.Header.Set("Authorization", target.Scheme+" "+target.Credentials)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return errorForTransport(err)
	}
	defer func() { _ = resp.Body.Close() }() // already read, or irrelevant
	_, _ = io.CopyN(io.Discard, resp.Body, maxPushAnswer)
	return errorForStatus(resp)
}

// errorForTransport returns why a receiver was not reached, without its URL, which may contain a
// secret.
func errorForTransport(err error) error {
	if blocked := new(netguard.BlockedError); errors.As(err, &blocked) {
		return &webhook.DeliveryError{Cause: errors.New("the URL leads to a private network"), Final: true}
	}
	return &webhook.DeliveryError{Cause: fmt.Errorf("reach the receiver: %w", redact.WithoutURL(err))}
}

// errorForStatus returns the error for an unsuccessful response.
func errorForStatus(resp *http.Response) error {
	if resp.StatusCode >= 200 && resp.StatusCode <= 299 {
		return nil
	}
	e := &webhook.DeliveryError{
		Cause: fmt.Errorf("the receiver answered with the status %d", resp.StatusCode),
		Final: resp.StatusCode == http.StatusGone, RetryAfter: retryAfter(resp.Header.Get("Retry-After"), time.Now()),
	}
	if resp.StatusCode >= 300 && resp.StatusCode <= 399 {
		e.Cause = fmt.Errorf("the receiver answered with a redirect (status %d), which is not followed", resp.StatusCode)
	}
	return e
}

// retryAfter reads the header of that name: seconds, or a time.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
