package agentruns

import (
	"errors"
	"net/http"

	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"go.uber.org/zap"
)

// retryUnavailable is the number of seconds after which a client may retry.
const retryUnavailable = "1"

// writeError responds with an error. Internal causes are only logged.
func (c *call) writeError(err error) {
	e := c.requestErrorOf(err)
	body := errorBody{Error: e.Code, Code: e.Code, Message: e.Message, Hint: withReason(e.Message, e.Hint), Candidates: e.Candidates}
	if e.Code == codeWorkspace { // the reason is the error, and clients use the hint as it is
		body.Error, body.Code, body.Message, body.Hint = e.Message, codeNotFound, "", e.Hint
	}
	if e.Code == codeUnavailable {
		c.w.Header().Set("Retry-After", retryUnavailable)
	}
	server.NoteAudit(c.r.Context(), zap.String("error", e.Code))
	writeError(c.w, statuses[e.Code], &body)
}

// withReason returns the hint of a refusal: the reason, followed by the remedy if known.
func withReason(reason, hint string) string {
	if hint == "" {
		return reason
	}
	return reason + "; " + hint
}

// requestErrorOf returns an error as callers see it. Internal causes are only logged.
func (c *call) requestErrorOf(err error) *requestError {
	if known, ok := errors.AsType[*requestError](err); ok {
		return known
	}
	ctx := c.r.Context()
	f := server.Report(ctx, c.settings.Logger, err)
	switch f.Class {
	case server.ClassNoAgent: // similar ids may be hidden from the credential
		return noAgent(f.Details.ID)
	case server.ClassKeyConflict:
		return usedKey(c.r.Header.Get(surfacekit.IdempotencyHeader))
	case server.ClassWrongState:
		if f.Details.Kind == "session" {
			return &requestError{Code: codeSessionEnded, Message: "the session has ended"}
		}
		return &requestError{Code: codeRunTerminal, Message: "the run has ended"}
	case server.ClassAnswered:
		return &requestError{Code: codeAnswered, Message: "the question has another answer already"}
	}
	if _, ok := statuses[f.Code]; ok {
		return &requestError{Code: f.Code, Message: f.Message}
	}
	return &requestError{Code: codeInvalidRequest, Message: f.Message}
}

// WriteError writes an error in the format of the protocol.
func (*Surface) WriteError(w http.ResponseWriter, r *http.Request, e *server.Error) {
	body := errorBody{Error: e.Code, Code: e.Code, Message: e.Message, Hint: e.Message, Required: e.Scope}
	switch {
	case e.Status == http.StatusUnauthorized && len(r.Header.Values("Authorization"))+len(r.Header.Values("X-Api-Key")) == 0:
		body.Error, body.Code = "Unauthorized", codeUnauthorized
	case e.Status == http.StatusUnauthorized:
		body.Error, body.Code, body.Message = "Invalid API key or OAuth access token", codeUnauthorized, ""
	case e.Code == codeScope:
		body.Message = ""
	}
	writeError(w, e.Status, &body)
}

// WriteFailure responds with a handler's error in the protocol's form.
func (s *Surface) WriteFailure(w http.ResponseWriter, r *http.Request, err error) {
	(&call{Surface: s, w: w, r: r}).writeError(err)
}

func writeError(w http.ResponseWriter, status int, body *errorBody) {
	if err := server.WriteJSON(w, status, body); err != nil {
		w.WriteHeader(status) // not reached: strings
	}
}
