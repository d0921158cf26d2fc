package mcp

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/internal/clip"
)

// ChangedError reports that a server's tools differ from the catalog that pins them.
type ChangedError struct {
	// Catalog is the file of the catalog.
	Catalog string
	// Changes describes the change of each tool, by its name at the server.
	Changes map[string]string
}

// maxShownChanges bounds how many changed tools an error names.
const maxShownChanges = 10

// Error lists the changed tools.
func (e *ChangedError) Error() string {
	return fmt.Sprintf("its tools differ from the catalog %s: %s; review them, and delete the file to accept them", e.Catalog, listChanges(e.Changes))
}

// listChanges lists the first few changes.
func listChanges(changes map[string]string) string {
	texts := make([]string, 0, maxShownChanges+1)
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		if len(texts) == maxShownChanges {
			texts = append(texts, fmt.Sprintf("and %d more", len(changes)-maxShownChanges))
			break
		}
		texts = append(texts, fmt.Sprintf("%q %s", clip.Visible(name, maxName), changes[name]))
	}
	return strings.Join(texts, ", ")
}

// compareTools describes the differences of tools between two catalogs.
func compareTools(old, now *catalog) map[string]string {
	byName := make(map[string]*toolInfo, len(old.Tools))
	for i := range old.Tools {
		byName[old.Tools[i].Name] = &old.Tools[i]
	}
	changes := make(map[string]string)
	for i := range now.Tools {
		t := &now.Tools[i]
		before := byName[t.Name]
		delete(byName, t.Name)
		if before == nil {
			changes[t.Name] = "is new"
		} else if what := changedParts(before, t); what != "" {
			changes[t.Name] = "has another " + what
		}
	}
	for name := range byName {
		changes[name] = "is gone"
	}
	return changes
}

// changedParts names the parts of a tool that differ.
func changedParts(a, b *toolInfo) string {
	var parts []string
	note := func(differs bool, part string) {
		if differs {
			parts = append(parts, part)
		}
	}
	note(a.Description != b.Description, "description")
	note(string(a.InputSchema) != string(b.InputSchema), "input schema")
	note(string(a.OutputSchema) != string(b.OutputSchema), "output schema")
	note(a.Annotations != b.Annotations, "set of annotations")
	note(a.Unusable != b.Unusable || a.RequiresTask != b.RequiresTask, "form")
	return strings.Join(parts, " and ")
}

// pinnedCatalog returns the catalog that the server's tools must match; nil if they may
// change, or if it does not exist yet.
func (s *server) pinnedCatalog() *catalog {
	if s.config.changePolicy() != changesRejected {
		return nil
	}
	return s.currentCatalog()
}

// checkPins compares the tools of a session with the catalog that pins them. Changed tools
// cannot be called in the session.
func (s *server) checkPins(session *session, now *catalog) error {
	pinned := s.pinnedCatalog()
	if pinned == nil {
		return nil
	}
	changes := compareTools(pinned, now)
	session.mu.Lock()
	session.changed = changes
	session.mu.Unlock()
	if len(changes) == 0 {
		return nil
	}
	return &ChangedError{Catalog: s.file, Changes: changes}
}

// verifyTools lists the tools of a session that does not provide the catalog, if they are pinned
// or if calls have headers that depend on the list. It returns an error only if listing fails.
func (s *server) verifyTools(ctx context.Context, session *session) error {
	if mirrored := session.isStateless() && s.mirrorsArguments(); !mirrored && s.pinnedCatalog() == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.connectTimeout())
	defer cancel()
	now, err := session.listCatalog(ctx, s.fingerprint)
	if err != nil {
		return &Error{Server: s.id, Err: session.target.hideSecrets(err)}
	}
	if err := s.checkPins(session, now); err != nil {
		s.logger.Warn("the server has changed its tools", "error", session.target.hideSecrets(err))
	}
	return nil
}

// mirrorsArguments reports whether calls of a tool repeat arguments in headers.
func (s *server) mirrorsArguments() bool {
	c := s.currentCatalog()
	return c != nil && slices.ContainsFunc(c.Tools, func(t toolInfo) bool { return bytes.Contains(t.InputSchema, []byte(`"x-mcp-header"`)) })
}

// followPins verifies the tools whenever the server announces a change. It ends a session whose
// tools can no longer be listed.
func (c *session) followPins(s *server) {
	for pause := time.Duration(0); c.awaitChanges(&pause); {
		if err := s.verifyTools(c.ctx, c); err != nil {
			c.cancel()
		}
	}
}
