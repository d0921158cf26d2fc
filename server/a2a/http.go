package a2a

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"reflect"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2alog "github.com/a2aproject/a2a-go/v2/log"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/server"
)

// maxNesting is the maximum nesting depth of a request's JSON.
const maxNesting = 64

// ServeHTTP answers a request.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, problem := e.readBody(w, r)
	if problem != nil {
		problem.writeError(w, e)
		return
	}
	handler, asked, spoken := e.handler, askedVersion(r), e.spoken
	switch {
	case e.old != nil && (asked == "" || asked == v03):
		handler, asked, spoken = e.old, v03, v03
	case asked == "" && spoken == v03:
		asked = v03 // that version may be omitted
	}
	ctx := a2alog.AttachLogger(r.Context(), slog.New(slog.DiscardHandler))
	env := &envelope{agent: r.PathValue("agent"), spoken: spoken, asked: asked, rpc: e.rpc, extended: splitExtensions(r.Header)}
	ctx, w = withEnvelope(ctx, env), &outageWriter{ResponseWriter: w, envelope: env}
	r = r.Clone(ctx)
	if spoken == v10 {
		body = e.jsonNames(r, body)
	}
	e.warnUnknownFields(w, r, spoken, body)
	if spoken == v03 && !e.rpc && restMethod(r) == "CreateTaskPushNotificationConfig" {
		body = wrapConfig(body)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if env.extended {
		w.Header().Set(a2a.SvcParamExtensions, a2awire.Extension)
	}
	if e.rpc {
		e.serveRPC(w, r, handler, body)
	} else {
		e.serveREST(w, r, handler, body)
	}
}

// serveRPC answers a JSON-RPC request.
func (e *endpoint) serveRPC(w http.ResponseWriter, r *http.Request, handler http.Handler, body []byte) {
	var request struct {
		Method string `json:"method"`
	}
	_ = json.Unmarshal(body, &request) // the handler reports errors
	w.Header().Set("Content-Type", "application/json")
	if streamMethods[request.Method] {
		out := &firstFrame{ResponseWriter: w, rpc: true, eventsOnly: acceptsOnlyEvents(r.Header)}
		handler.ServeHTTP(out, r)
		out.finishResponse(r.Method)
		return
	}
	if e.isOldCard(r, request.Method) {
		e.serveOldCard(w, r, handler)
		return
	}
	empty, ok := emptyResults[request.Method]
	if !ok {
		handler.ServeHTTP(w, r)
		return
	}
	kept := &keptResponse{ResponseWriter: w}
	handler.ServeHTTP(kept, r)
	kept.writeResult(empty)
}

// streamMethods are the methods of version 1.0 that respond with a stream, or with a plain error if
// the client accepts JSON. Clients of 0.3 always expect a stream.
var streamMethods = map[string]bool{"SendStreamingMessage": true, "SubscribeToTask": true}

// emptyResults are the empty results that the SDK omits or sets to null, by method.
var emptyResults = map[string]string{
	"DeleteTaskPushNotificationConfig":    `{}`,
	"tasks/pushNotificationConfig/delete": `null`,
	"tasks/pushNotificationConfig/list":   `[]`,
}

// serveREST answers an HTTP+JSON request.
func (e *endpoint) serveREST(w http.ResponseWriter, r *http.Request, handler http.Handler, body []byte) {
	r.URL.Path = "/" + strings.TrimSuffix(r.PathValue("path"), "/")
	r.URL.RawPath = ""
	q := r.URL.Query()
	renamed := e.spoken == v10 && jsonQuery(q)
	if e.spoken == v10 && q.Has("lastUpdatedAfter") { // the name of 0.3 and some clients
		q.Set("statusTimestampAfter", q.Get("lastUpdatedAfter"))
		renamed = true
	}
	if renamed {
		r.URL.RawQuery = q.Encode()
	}
	e.warnUnknownParameters(w, r, q)
	problem := checkQuery(restMethod(r), q)
	if problem == nil {
		problem = e.checkTypes(r, body)
	}
	if problem != nil {
		problem.writeError(w, e)
		return
	}
	out := &firstFrame{ResponseWriter: w, old: e.spoken == v03}
	if env, ok := r.Context().Value(envelopeKey{}).(*envelope); ok {
		out.outage, env.query = &env.outage, q
	}
	if e.isOldCard(r, "") {
		e.serveOldCard(out, r, handler)
	} else {
		handler.ServeHTTP(out, r)
	}
	out.finishResponse(r.Method)
}

// isOldCard reports whether a request of version 0.3 is for the extended card. In JSON-RPC the
// method decides.
func (e *endpoint) isOldCard(r *http.Request, method string) bool {
	if e.rpc {
		return method == "agent/getAuthenticatedExtendedCard"
	}
	return e.spoken == v03 && restMethod(r) == "GetExtendedAgentCard"
}

// serveOldCard answers with the extended card of version 0.3.
func (e *endpoint) serveOldCard(w http.ResponseWriter, r *http.Request, handler http.Handler) {
	kept := &keptResponse{ResponseWriter: w}
	handler.ServeHTTP(kept, r)
	if env, ok := r.Context().Value(envelopeKey{}).(*envelope); ok && env.card != nil {
		if e.rpc {
			kept.setResult(env.card)
		} else {
			kept.body = *bytes.NewBuffer(env.card)
		}
	}
	kept.writeBody()
}

// acceptsOnlyEvents reports whether a client accepts a stream but not JSON.
func acceptsOnlyEvents(h http.Header) bool {
	accept := strings.Join(h.Values("Accept"), ",")
	return strings.Contains(accept, "text/event-stream") && !strings.Contains(accept, "application/json") && !strings.Contains(accept, "*/*")
}

// wrapConfig wraps a push configuration of version 0.3 as the SDK expects it. Some clients send it
// unwrapped.
func wrapConfig(body []byte) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || fields["config"] != nil || fields["pushNotificationConfig"] == nil {
		return body
	}
	wrapped, err := json.Marshal(map[string]json.RawMessage{"config": body})
	if err != nil {
		return body
	}
	return wrapped
}

// readBody reads the body of a request, if that is allowed.
func (e *endpoint) readBody(w http.ResponseWriter, r *http.Request) ([]byte, *problem) {
	limit := e.server.settings.MaxBody
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if large := new(http.MaxBytesError); errors.As(err, &large) {
		return nil, &problem{status: http.StatusRequestEntityTooLarge, kind: a2a.ErrInvalidRequest, message: fmt.Sprintf("the request has more than %d bytes", large.Limit)}
	}
	if err != nil {
		return nil, &problem{status: http.StatusBadRequest, kind: a2a.ErrParseError, message: "the request broke off"}
	}
	if len(body) == 0 && !e.rpc {
		return body, nil
	}
	if !e.acceptsContentType(r.Header.Get("Content-Type")) {
		return nil, &problem{status: http.StatusUnsupportedMediaType, kind: a2a.ErrUnsupportedContentType, message: "the Content-Type must be application/json"}
	}
	if err := server.CheckJSON(body, maxNesting); err != nil {
		p := &problem{status: http.StatusBadRequest, kind: a2a.ErrParseError, message: clip.Text(diag.Sentence("the body", err.Error()))}
		if e.rpc && !json.Valid(body) {
			p.status = http.StatusOK // as for other errors of JSON-RPC
		}
		return nil, p
	}
	if e.rpc {
		return completeCall(body)
	}
	return body, nil
}

// checkTypes returns the reason that an HTTP+JSON body of version 1.0 cannot be decoded, which the
// SDK would not mention.
func (e *endpoint) checkTypes(r *http.Request, body []byte) *problem {
	var into any
	switch method := restMethod(r); {
	case e.spoken != v10:
		return nil
	case method == "SendMessage" || method == "SendStreamingMessage":
		into = new(a2a.SendMessageRequest)
	case method == "CreateTaskPushNotificationConfig":
		into = new(a2a.PushConfig)
	default:
		return nil
	}
	p := &problem{status: http.StatusBadRequest, kind: a2a.ErrParseError, message: "the request has no body"}
	if len(body) > 0 {
		err := json.Unmarshal(body, into)
		if err == nil {
			return nil
		}
		path, text := rawjson.DescribeError(err, reflect.TypeOf(into))
		p.kind, p.message = a2a.ErrInvalidParams, clip.Text(cmp.Or(path, "body")+": "+text)
	}
	return p
}

// acceptsContentType reports whether requests may have a content type.
func (e *endpoint) acceptsContentType(contentType string) bool {
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" || !e.rpc && media == "application/a2a+json")
}
