package app

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path/filepath"
	"regexp"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/service/workspace"
	"go.uber.org/zap"
)

// NewWorkspaces returns the manager of session workspaces; nil if the configuration has none.
func NewWorkspaces(f *config.File, logger *zap.Logger) (*workspace.Manager, error) {
	w := &f.Workspaces
	if !w.On() {
		return nil, nil //nolint:nilnil // none are made
	}
	return workspace.New(workspace.Settings{
		Dir: w.Dir, Store: storeName(&f.Store), Repositories: w.Git.AllowedRepositories, Protocols: w.Git.AllowedProtocols(),
		Roots: w.PreparedRoots, Env: w.Git.Env, Timeout: w.PrepareTime(), MaxBytes: w.Bytes(), Logger: logger.Named("workspaces"),
	})
}

// dsnPassword matches the password in a key=value connection string.
var dsnPassword = regexp.MustCompile(`(?i)\bpassword\s*=\s*('(?:[^'\\]|\\.)*'|[^\s']+)`)

// storeName returns a unique name for a store; empty for an in-memory store. Changing a database
// password does not change the name.
func storeName(s *settings.Store) string {
	place := s.DSN
	switch s.Kind() {
	case settings.StoreMemory:
		return ""
	case settings.StoreSQLite:
		if absolute, err := filepath.Abs(place); err == nil {
			place = absolute
		}
	default:
		if u, err := url.Parse(place); err == nil && u.Host != "" {
			place = u.Host + u.Path
		}
		place = dsnPassword.ReplaceAllString(place, "")
	}
	sum := sha256.Sum256([]byte(place))
	return s.Kind() + "-" + hex.EncodeToString(sum[:8])
}
