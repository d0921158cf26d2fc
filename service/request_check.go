package service

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/sessionstart"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
)

func checkTurn(req *CreateTurn) error {
	switch {
	case req.Task == TaskNothing && len(req.Input)+len(req.Before) > 0:
		return &InvalidError{"input", "a turn that does nothing has none"}
	case req.Task != TaskAnswer && req.Task != TaskNothing:
		return &InvalidError{"task", fmt.Sprintf("unknown task %q: leave it empty, or use nothing", clip.Text(string(req.Task)))}
	case req.Task == TaskAnswer && len(req.Input) == 0:
		return runtime.ErrNoInput
	case len(req.Custom) > 0 && !json.Valid(req.Custom):
		return &InvalidError{"custom", "is not JSON"}
	case len(req.Custom) > MaxMetadata:
		return &InvalidError{"custom", fmt.Sprintf("has %d bytes; %d are allowed", len(req.Custom), MaxMetadata)}
	case req.Depth < 0:
		return &InvalidError{"depth", "must be 0 or more"}
	case req.InteractionTimeout < 0:
		return &InvalidError{"interaction_timeout", "must be 0 or more"}
	case req.OnTimeout != "" && req.OnTimeout != TimeoutCancels && req.OnTimeout != TimeoutFails:
		return &InvalidError{"on_timeout", fmt.Sprintf("unknown policy %q: use cancel or fail", req.OnTimeout)}
	}
	switch req.OnBusy {
	case "", QueueBehind, RejectBusy, Interrupt:
	default:
		return &InvalidError{"on_busy", fmt.Sprintf("unknown policy %q: use queue, reject or interrupt", req.OnBusy)}
	}
	for i := range req.Input {
		if role := req.Input[i].Role; role != model.RoleUser && role != model.RoleSystem {
			return &InvalidError{fmt.Sprintf("input[%d].role", i), fmt.Sprintf("invalid role %q: use user or system; messages of a model or tool are not input", role)}
		}
	}
	for i := range req.Before {
		if err := checkBefore(&req.Before[i]); err != nil {
			return &InvalidError{fmt.Sprintf("before[%d]", i), err.Error()}
		}
	}
	if req.FromStart && req.SnapshotID != "" {
		return &InvalidError{"snapshot_id", "must be empty with from_start"}
	}
	if err := checkID("turn", req.ID); err != nil {
		return err
	}
	return checkMetadata(req.Metadata)
}

// checkBefore checks a message that precedes the input.
func checkBefore(m *model.Message) error {
	if m.Role != model.RoleUser && m.Role != model.RoleSystem && m.Role != model.RoleAssistant {
		return fmt.Errorf("invalid role %q: use user, system or assistant", m.Role)
	}
	for i := range m.Parts {
		switch m.Parts[i].Type {
		case model.PartText:
		case model.PartImage, model.PartFile:
			if m.Role != model.RoleUser {
				return errors.New("only messages of the user have images and files")
			}
		default:
			return errors.New("must have text, images and files only")
		}
	}
	return nil
}

func checkSession(req *CreateSession) error {
	if err := checkID("session", req.ID); err != nil {
		return err
	}
	if err := checkLabels(req.Labels); err != nil {
		return err
	}
	if err := checkHooks(req.SessionStart); err != nil {
		return err
	}
	return checkSessionMetadata(req.Metadata)
}

// checkSessionMetadata checks the metadata that a caller gives a session.
func checkSessionMetadata(metadata json.RawMessage) error {
	if err := checkMetadata(metadata); err != nil {
		return err
	}
	if name := sessionstart.ReservedIn(metadata); name != "" {
		return &InvalidError{"metadata", fmt.Sprintf("member %q is reserved: the service sets it", name)}
	}
	return nil
}

// checkID checks the id that a caller chose for a record of a kind; it may be empty.
func checkID(kind, id string) error {
	if id == "" {
		return nil
	}
	return CheckID(kind, id)
}

// CheckID checks the id of a record of a kind. The error is an *InvalidError.
func CheckID(kind, id string) error {
	if found := spec.CheckID("id", kind, id); len(found) > 0 {
		return &InvalidError{"id", found[0].Message + ": " + found[0].Hint}
	}
	return nil
}

func checkLabels(labels map[string]string) error {
	if len(labels) > MaxLabels {
		return &InvalidError{"labels", fmt.Sprintf("there are %d; %d are allowed", len(labels), MaxLabels)}
	}
	for name, value := range labels {
		if name == "" || len(name) > MaxLabel || len(value) > MaxLabel || !isStorable(name) || !isStorable(value) {
			return &InvalidError{"labels", fmt.Sprintf("%q: a name and a value are text of at most %d bytes, the name not empty", name, MaxLabel)}
		}
	}
	return nil
}

// isStorable reports whether every store can store the text.
func isStorable(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }

func checkMetadata(metadata json.RawMessage) error {
	if len(metadata) == 0 {
		return nil
	}
	if len(metadata) > MaxMetadata {
		return &InvalidError{"metadata", fmt.Sprintf("has %d bytes; %d are allowed", len(metadata), MaxMetadata)}
	}
	if !bytes.HasPrefix(bytes.TrimLeft(metadata, " \t\r\n"), []byte("{")) || !json.Valid(metadata) {
		return &InvalidError{"metadata", "must be a JSON object"}
	}
	return nil
}

// keyOf returns the stored form of an idempotency key, computed over the body, or over the request
// if there is no body.
func keyOf(value string, body json.RawMessage, request any) (store.Key, error) {
	if value == "" {
		return store.Key{}, nil
	}
	if body != nil {
		request = body
	}
	if len(value) > maxID || !isStorable(value) {
		return store.Key{}, &InvalidError{"idempotency_key", fmt.Sprintf("must be text of at most %d bytes", maxID)}
	}
	content, err := json.Marshal(request)
	if err != nil {
		return store.Key{}, fmt.Errorf("encode the request: %w", err)
	}
	sum := sha256.Sum256(content)
	return store.Key{Value: value, Hash: sum[:]}, nil
}
