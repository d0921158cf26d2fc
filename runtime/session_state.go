package runtime

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/tools"
)

const (
	// maxArtifacts limits the artifacts of one turn, and maxCustom the application's session state,
	// in bytes.
	maxArtifacts = 64 << 20
	maxCustom    = 4 << 20
	// maxShown is how many changes of the application's state may wait to be shown;
	// later ones are merged into one.
	maxShown = 256
)

var (
	// errNoJSON reports an application's state that cannot be stored.
	errNoJSON = errors.New("the new state of the session is not JSON, or nested too deeply")
	// errTurnOver reports a session change after the end of the turn.
	errTurnOver = errors.New("the turn has ended")
)

// sessionState is one turn's view of a session and its changes. The turn's own goroutine shows the
// changes, in order.
type sessionState struct {
	snapshotID, parentID string
	newID                func() string
	// root has the artifacts of a delegate; nil for a turn that is not a
	// delegate's.
	root *sessionState

	// found is the custom state at the start of the turn.
	found json.RawMessage

	mu sync.Mutex
	// state is the session with the turn's changes. Its custom state is never modified in place.
	state backend.SessionState
	// handed is the last version that was handed out.
	handed uint64
	// made are the artifacts of this turn, and taken is the number of them already taken.
	made  []*tools.Artifact
	taken int
	// changes are the changes not yet shown.
	changes []sessionChange
	over    bool

	// view is Request.ShowCustom; nil shows everything.
	view func(custom json.RawMessage) (json.RawMessage, error)
	// base is the last custom state that was shown, and patched is set once it was shown in full.
	// Used by the turn's goroutine.
	base    json.RawMessage
	patched bool
}

// sessionChange is one change: an artifact, or the new custom state.
type sessionChange struct {
	artifact *event.Artifact
	custom   json.RawMessage
}

var _ tools.Session = (*sessionState)(nil)

// beginTurn initializes the session for a turn that begins or resumes.
func (s *sessionState) beginTurn(req *Request, state *backend.State, parent *ancestry, newID func() string) {
	s.snapshotID, s.parentID, s.newID, s.view = req.SnapshotID, req.ParentSnapshotID, newID, req.ShowCustom
	if parent != nil {
		s.root = parent.session
	}
	s.found, s.base, s.state.Custom = req.Custom, req.Custom, req.Custom
	s.state.Artifacts = slices.Clone(req.Artifacts)
	if state != nil && state.SessionState.Version > 0 {
		s.state = state.SessionState
		s.state.Artifacts = slices.Clone(s.state.Artifacts)
		s.handed = s.state.Version
		if !bytes.Equal(s.state.Custom, s.base) {
			// Followers of the turn may have seen more of it than was stored.
			s.changes = append(s.changes, sessionChange{custom: s.state.Custom})
		}
	}
}

// rootSession returns the session that stores artifacts.
func (s *sessionState) rootSession() *sessionState {
	if s.root != nil {
		return s.root
	}
	return s
}

// SnapshotID returns the id that is reserved for the turn's snapshot.
func (s *sessionState) SnapshotID() string { return s.snapshotID }

// ParentSnapshotID returns the snapshot that the turn continues from.
func (s *sessionState) ParentSnapshotID() string { return s.parentID }

// Custom returns a copy of the application's state.
func (s *sessionState) Custom() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return bytes.Clone(s.state.Custom)
}

// UpdateCustom changes the application's state. It retries when another change was
// made in between.
func (s *sessionState) UpdateCustom(change func(custom json.RawMessage) (json.RawMessage, error)) error {
	for {
		s.mu.Lock()
		seen := s.state.Custom
		s.mu.Unlock()
		next, err := change(bytes.Clone(seen))
		if err != nil {
			return err
		}
		if next, err = customOf(next); err != nil {
			return err
		}
		done, err := s.swapCustom(seen, next)
		if done || err != nil {
			return err
		}
	}
}

// swapCustom replaces the application's state if it still equals seen.
func (s *sessionState) swapCustom(seen, next json.RawMessage) (done bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		return false, errTurnOver
	case !bytes.Equal(s.state.Custom, seen):
		return false, nil
	case bytes.Equal(seen, next):
		return true, nil
	}
	s.state.Custom = next
	s.state.Version++
	if n := len(s.changes); n >= maxShown && s.changes[n-1].artifact == nil {
		s.changes[n-1].custom = next
	} else {
		s.changes = append(s.changes, sessionChange{custom: next})
	}
	return true, nil
}

// customOf returns a state in its stored form: a compact copy; nil if it is empty or null.
func customOf(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	compact, err := rawjson.Compact(raw)
	switch {
	case err != nil:
		return nil, errNoJSON
	case len(compact) > maxCustom:
		return nil, fmt.Errorf("the state of the session has %d bytes; the limit is %d", len(compact), maxCustom)
	case string(compact) == "null":
		return nil, nil
	}
	return compact, nil
}

// KeepArtifact stores an artifact until the turn's result is dropped, or for as
// long as the store has it.
func (s *sessionState) KeepArtifact(a tools.Artifact) (string, error) {
	if s.root != nil {
		return s.root.KeepArtifact(a)
	}
	if len(a.Metadata) > 0 && !rawjson.Valid(a.Metadata) {
		return "", fmt.Errorf("the metadata of artifact %q is not JSON", a.Name)
	}
	if !clip.IsClean(a.ID) {
		return "", fmt.Errorf("invalid artifact id %q: it contains a NUL or is not UTF-8", a.ID)
	}
	if a.ID == "" {
		a.ID = s.newID()
	}
	a.Name, a.MediaType = clip.Clean(a.Name), clip.Clean(a.MediaType)
	a.Size, a.Data, a.Metadata = len(a.Data), bytes.Clone(a.Data), bytes.Clone(a.Metadata)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return "", errTurnOver
	}
	if err := s.putArtifact(&a); err != nil {
		return "", err
	}
	s.state.Version++
	s.changes = append(s.changes, sessionChange{artifact: &event.Artifact{ID: a.ID, Name: a.Name, MediaType: a.MediaType, Size: a.Size}})
	return a.ID, nil
}

// putArtifact replaces an artifact, or appends a new one.
func (s *sessionState) putArtifact(a *tools.Artifact) error {
	size := s.state.ArtifactBytes + a.Size
	replaced := slices.IndexFunc(s.made, func(m *tools.Artifact) bool { return replacesArtifact(a, m) })
	if replaced >= 0 {
		size -= s.made[replaced].Size
	}
	if size > maxArtifacts {
		return fmt.Errorf("the artifacts of a turn exceed the limit of %d bytes", maxArtifacts)
	}
	if replaced >= 0 {
		s.made = slices.Delete(s.made, replaced, replaced+1)
		if replaced < s.taken {
			s.taken--
		}
	}
	s.made = append(s.made, a)
	s.state.ArtifactBytes = size
	held := *a
	held.Data = nil
	// Readers still have the old list.
	s.state.Artifacts = slices.Clone(s.state.Artifacts)
	if i := slices.IndexFunc(s.state.Artifacts, func(h tools.Artifact) bool { return replacesArtifact(a, &h) }); i >= 0 {
		s.state.Artifacts[i] = held
	} else {
		s.state.Artifacts = append(s.state.Artifacts, held)
	}
	return nil
}

// replacesArtifact reports whether an artifact replaces another.
func replacesArtifact(a, other *tools.Artifact) bool {
	return a.ID == other.ID || a.Name != "" && a.Name == other.Name
}

// Artifacts returns the artifacts of the session, without their data.
func (s *sessionState) Artifacts() []tools.Artifact {
	if s.root != nil {
		return s.root.Artifacts()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.state.Artifacts)
}

// takeMade returns the artifacts that the turn made since the last call.
func (s *sessionState) takeMade() []*tools.Artifact {
	s.mu.Lock()
	defer s.mu.Unlock()
	made := slices.Clone(s.made[s.taken:])
	s.taken = len(s.made)
	return made
}

// handOut returns the session with the turn's changes.
func (s *sessionState) handOut() backend.SessionState {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handed = s.state.Version
	if s.handed == 0 {
		return backend.SessionState{}
	}
	return s.state
}

// changedState returns the session with the turn's changes, or nil if that state was already handed
// out.
func (s *sessionState) changedState() *backend.SessionState {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Version == s.handed {
		return nil
	}
	state := s.state
	return &state
}

// close rejects further changes of the session, and returns the custom state and the artifacts that
// the turn created. Unless changed is set, the custom state is the one at the start of the turn.
func (s *sessionState) close(changed bool) (custom json.RawMessage, made []tools.Artifact) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	for _, a := range s.made {
		made = append(made, *a)
	}
	if !changed {
		return s.found, made
	}
	return s.state.Custom, made
}

// takeChanges removes and returns the changes not yet shown.
func (s *sessionState) takeChanges() []sessionChange {
	s.mu.Lock()
	defer s.mu.Unlock()
	changes := s.changes
	s.changes = nil
	return changes
}

// changeEvent returns the event that shows a change, or nil if nothing changed.
func (s *sessionState) changeEvent(c *sessionChange) event.Data {
	if c.artifact != nil {
		return c.artifact
	}
	base, custom, ok := s.customViews(c.custom)
	if !ok {
		return nil
	}
	patch := DiffCustom(base, custom)
	if len(patch) == 0 {
		return nil
	}
	if !s.patched {
		patch = []event.PatchOperation{replaceWhole(custom)}
	}
	s.base, s.patched = custom, true
	return &event.CustomPatch{Patch: patch}
}

// customViews returns the last custom state shown, and a new one, in the form that followers of the
// turn see. It returns false if the new one must not be shown.
func (s *sessionState) customViews(next json.RawMessage) (base, custom json.RawMessage, ok bool) {
	if s.view == nil {
		return s.base, next, true
	}
	custom, err := s.viewOf(next)
	if err != nil {
		return nil, nil, false
	}
	base = s.base
	if !s.patched {
		if base, err = s.viewOf(base); err != nil {
			base = nil
		}
	}
	return base, custom, true
}

// viewOf returns the followers' view of a custom state, as compact JSON.
func (s *sessionState) viewOf(custom json.RawMessage) (json.RawMessage, error) {
	shown, err := s.view(bytes.Clone(custom))
	if err != nil {
		return nil, err
	}
	return customOf(shown)
}
