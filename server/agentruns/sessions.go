package agentruns

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

// labelEnded is the label that says when a session ended.
const labelEnded = "agent_runs_ended"

// sessionRecord is stored with a session when it is created.
type sessionRecord struct {
	// Spec is the spec as received, without header values: those are among the secrets in the
	// metadata.
	Spec fields `json:"spec"`
}

// session is a session of this protocol.
type session struct {
	*service.Session
	record sessionRecord
}

// createSession creates a session. Its spec must be complete except for the input.
func (c *call) createSession() error {
	f, warnings, again, err := c.readSpec("session")
	if err != nil {
		return err
	}
	asked, err := readRequest(f, forSession)
	if err != nil {
		return err
	}
	if _, err := c.newComposer(c.r.Context(), c.caller).composeTurn(c.caller, asked); err != nil {
		return err
	}
	id := c.settings.Service.NewID()
	metadata, err := c.hideSecrets(id, specOf(f))
	if err != nil {
		return err
	}
	made, err := c.settings.Service.CreateSession(c.r.Context(), c.caller, service.CreateSession{
		ID: id, AgentID: asked.AgentID, Labels: map[string]string{ownKey: labelSession}, Metadata: metadata,
		IdempotencyKey: again.key, IdempotencyBody: again.body,
	})
	if err != nil {
		return err
	}
	warnings = slices.Concat(warnings, f.warnIdle("a session has no input: send it a message", inputFields...), asked.warnings)
	return server.WriteJSON(c.w, http.StatusCreated, sessionRef{made.ID, asked.Name, moment(made.CreatedAt), warnings})
}

// sessionRef locates a session.
type sessionRef struct {
	SessionID string   `json:"sessionId"`
	Name      string   `json:"name"`
	CreatedAt moment   `json:"createdAt"`
	Warnings  warnings `json:"warnings,omitempty"`
}

// getSession returns the session that the path names.
func (c *call) getSession(ctx context.Context) (*session, error) {
	id := c.r.PathValue("id")
	kept, err := c.settings.Service.GetSession(ctx, c.caller, id)
	found := &session{Session: kept}
	if errors.Is(err, service.ErrNotFound) || err == nil && (kept.Labels[ownKey] != labelSession || !own.Decode(kept.Metadata, &found.record)) {
		return nil, &requestError{Code: codeNotFound, Message: fmt.Sprintf("session %q not found", id)}
	}
	return found, err
}

// sendMessage begins a run in a session, after the session's earlier runs.
func (c *call) sendMessage() error {
	message, warnings, again, err := c.readSpec("message")
	if err != nil {
		return err
	}
	warnings = append(warnings, message.warnIdle("the session decides it", identityFields...)...)
	found, err := c.getSession(c.r.Context())
	if err != nil {
		return err
	}
	if found.State == service.SessionArchived {
		return &requestError{Code: codeSessionEnded, Message: "the session has ended"}
	}
	spec := found.record.Spec
	if _, brings := message[fieldTools]; !brings {
		if spec, err = c.revealSpec(found); err != nil {
			return err
		}
	}
	f, err := withMessage(spec, message)
	if err != nil {
		return err
	}
	made, more, err := c.beginTurn(f, found.Session, labelSession, again)
	if err != nil {
		return err
	}
	return server.WriteJSON(c.w, http.StatusAccepted, c.refTo(made, append(warnings, more...)))
}

// endSession ends a session: it accepts no more messages, and its active runs are canceled. It can
// still be read.
func (c *call) endSession() error {
	ctx := c.r.Context()
	found, err := c.getSession(ctx)
	if err != nil {
		return err
	}
	if found.State != service.SessionArchived {
		archived, labels := service.SessionArchived, maps.Clone(found.Labels)
		labels[labelEnded] = c.settings.Service.Now().Format(time.RFC3339Nano)
		if _, err := c.settings.Service.UpdateSession(ctx, c.caller, found.ID, service.SessionPatch{State: &archived, Labels: &labels}); err != nil {
			return err
		}
	}
	if err := c.cancelAll(ctx, found.ID); err != nil {
		return err
	}
	return server.WriteJSON(c.w, http.StatusOK, done{OK: true})
}

// cancelAll cancels the runs of an ended session, so that none is added.
func (c *call) cancelAll(ctx context.Context, sessionID string) error {
	live := service.TurnQuery{SessionID: sessionID, Statuses: []service.Status{service.Pending, service.Running, service.Waiting}, Page: service.Page{Limit: service.MaxPage}}
	for {
		list, err := c.settings.Service.ListTurns(ctx, c.caller, live)
		if err != nil || len(list.Turns) == 0 {
			return err
		}
		for _, turn := range list.Turns {
			if _, err := c.settings.Service.CancelTurn(ctx, c.caller, turn.ID, "the client ended the session"); err != nil {
				return err
			}
		}
	}
}

// sessionView is a session as clients read it.
type sessionView struct {
	ID         string                     `json:"id"`
	Name       string                     `json:"name"`
	Status     string                     `json:"status" enum:"active,ended"`
	CreatedAt  moment                     `json:"createdAt"`
	LastUsedAt moment                     `json:"lastUsedAt"`
	EndedAt    *moment                    `json:"endedAt" null:"true"`
	AgentSpec  fields                     `json:"agentSpec"`
	Messages   []inputMessage             `json:"messages"`
	Metadata   map[string]json.RawMessage `json:"metadata" additionalProperties:"{'type':'string'}"`
}

// readSession responds with a session and its conversation.
func (c *call) readSession() error {
	ctx := c.r.Context()
	found, err := c.getSession(ctx)
	if err != nil {
		return err
	}
	metadata, err := metadataOf(found.record.Spec)
	if err != nil {
		return err
	}
	view := sessionView{
		ID: found.ID, Name: nameOf(found.record.Spec), Status: "active", CreatedAt: moment(found.CreatedAt), LastUsedAt: moment(found.LastTurnAt),
		AgentSpec: redactSpec(found.record.Spec), Messages: []inputMessage{}, Metadata: metadata,
	}
	if found.LastTurnAt.IsZero() {
		view.LastUsedAt = view.CreatedAt
	}
	if found.State == service.SessionArchived {
		ended, err := time.Parse(time.RFC3339Nano, found.Labels[labelEnded])
		if err != nil {
			ended = found.UpdatedAt // it was archived in another way
		}
		view.Status, view.EndedAt = "ended", momentOf(ended)
	}
	if found.Tip != "" {
		snapshot, err := c.settings.Service.GetSnapshot(ctx, c.caller, found.Tip)
		if err != nil {
			return err
		}
		if snapshot.State != nil {
			view.Messages = spokenTexts(snapshot.State.Messages)
		}
	}
	return server.WriteJSON(c.w, http.StatusOK, view)
}

// nameOf returns the name in a validated spec.
func nameOf(f fields) string {
	var name string
	_ = json.Unmarshal(f[fieldName], &name) // it is valid or absent
	return cmp.Or(name, spec.EphemeralAgent)
}

// spokenTexts returns the texts of a conversation: the inputs and the final answer to each, without
// intermediate steps.
func spokenTexts(messages []model.Message) []inputMessage {
	list := []inputMessage{}
	spoken := model.Spoken(messages)
	for i := range spoken {
		text, files := spoken[i].Text(), attachmentsOf(&spoken[i])
		if text != "" || len(files) > 0 {
			list = append(list, inputMessage{Role: string(spoken[i].Role), Content: text, Attachments: files})
		}
	}
	return list
}

// hideSecrets returns the metadata of a session with a spec. It holds the readable part of the spec
// and, separately, its secrets, encrypted if there is a key.
func (s *Surface) hideSecrets(sessionID string, spec fields) (json.RawMessage, error) {
	all := map[string]any{ownKey: sessionRecord{Spec: redactSpec(spec)}}
	if found := secretsOf(spec); len(found) > 0 {
		plain, err := json.Marshal(found)
		if err != nil {
			return nil, err
		}
		if all[service.SecretMetadata], err = s.box.Seal(placeHeaders(sessionID), plain); err != nil {
			return nil, err
		}
	}
	return surfacekit.EncodeMetadata(all)
}

// revealSpec returns the spec of a session with the headers of its tools. Sessions stored before
// secrets were kept separately have them in the spec.
func (s *Surface) revealSpec(found *session) (fields, error) {
	var metadata fields
	if err := json.Unmarshal(found.Metadata, &metadata); err != nil {
		return nil, fmt.Errorf("read the metadata of session %s: %w", found.ID, err)
	}
	kept, has := metadata[service.SecretMetadata]
	if !has {
		if slices.ContainsFunc(toolsOf(found.record.Spec), isRedacted) { // it came from an export
			return nil, newInvalid("the session does not have the headers and parameters of its tools any more; give tools with the message")
		}
		return found.record.Spec, nil
	}
	plain, err := s.box.Open(placeHeaders(found.ID), kept)
	if err != nil {
		return nil, fmt.Errorf("read the headers of session %s: %w", found.ID, err)
	}
	var all secrets
	if err := json.Unmarshal(plain, &all); err != nil {
		return nil, fmt.Errorf("read the headers of session %s: %w", found.ID, err)
	}
	return all.mergeInto(found.record.Spec)
}
