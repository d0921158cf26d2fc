package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/store"
)

// Callers choose ids of sessions and turns. If an id belongs to a record that the caller cannot
// see, the caller's record is stored under the id with a mark, which is not shown, so that no one
// learns which ids others use.

// markedID returns the id with the caller's mark. Credentials for different agents of one
// subject have different marks.
func markedID(caller Caller, id string) string {
	name := []any{caller.Tenant, caller.Subject}
	if caller.Agents != nil {
		name = append(name, caller.Agents.sources())
	}
	encoded, _ := json.Marshal(name) //nolint:errchkjson // texts can be encoded
	sum := sha256.Sum256(encoded)
	return id + event.IDMark + hex.EncodeToString(sum[:16])
}

// FindOwn calls find with an id of a session or turn. If the caller sees none, it calls find with
// the marked id, under which the caller's record is stored if another caller uses the id.
func FindOwn[T any](caller Caller, id string, find func(id string) (T, error)) (T, error) {
	found, err := find(id)
	if !errors.Is(err, store.ErrNotFound) || caller.operator || id == "" || strings.Contains(id, event.IDMark) {
		return found, err
	}
	if own, failed := find(markedID(caller, id)); !errors.Is(failed, store.ErrNotFound) {
		return own, failed
	}
	return found, err
}

// createOwn calls create with an id chosen by the caller and, if a record that the caller cannot
// see has that id, with the marked id.
func createOwn[T any](caller Caller, id string, sees func(id string) (bool, error), create func(id string) (T, error)) (T, error) {
	made, err := create(id)
	taken, isTaken := errors.AsType[*store.ExistsError](err)
	if !isTaken || taken.ID != id || caller.operator || strings.Contains(id, event.IDMark) {
		return made, err
	}
	if seen, failed := sees(id); seen || failed != nil {
		return made, errors.Join(err, failed)
	}
	made, err = create(markedID(caller, id))
	if taken, isTaken = errors.AsType[*store.ExistsError](err); isTaken {
		err = &store.ExistsError{Kind: taken.Kind, ID: id}
	}
	return made, err
}

// seesSessionID reports whether the caller sees the session with an id, even while it starts.
func (c *core) seesSessionID(ctx context.Context, caller Caller, id string) (bool, error) {
	scope, err := caller.toScope()
	if err != nil {
		return false, err
	}
	session, err := c.settings.Store.Session(ctx, scope, id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return c.seesSession(ctx, caller, session)
}

// seesTurnID reports whether the caller sees the turn with an id.
func (c *core) seesTurnID(ctx context.Context, caller Caller, id string) (bool, error) {
	_, err := c.readTurn(ctx, caller, id)
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}
