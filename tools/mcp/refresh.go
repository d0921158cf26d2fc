package mcp

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/mcp/internal/oauth"
)

// Refresh requests the tools from the server and keeps the response, also in the catalog file.
func (s *server) Refresh(ctx context.Context) error {
	if s.refersToTenant || s.NeedsLogin() {
		return s.RefreshFor(ctx, nil)
	}
	session, fresh, err := s.link.openSession(ctx)
	if err != nil {
		return err
	}
	if fresh { // it has just listed its tools
		return session.listed
	}
	_, err = s.listTools(ctx, session)
	return err
}

// errNoTenant reports that a server's tools were requested without a tenant.
var errNoTenant = errors.New("its settings contain variables of tenants, so its tools can be listed only for a tenant")

// RefreshFor requests the tools from the server with the variables of a tenant, and keeps the
// response for all tenants. It closes the connection afterwards.
func (s *server) RefreshFor(ctx context.Context, tenant *tools.TenantVariables) error {
	if !s.refersToTenant && !s.NeedsLogin() {
		return s.Refresh(ctx)
	}
	if s.NeedsLogin() && !keepsLogins(tenant) {
		return s.rereadCatalog()
	}
	if tenant == nil {
		return &Error{Server: s.id, Err: errNoTenant}
	}
	to, err := s.bindTarget(ctx, tenant)
	if err != nil {
		return fmt.Errorf("%w: %w", errNoTenant, err)
	}
	return s.listToolsAt(ctx, to)
}

// listToolsAt requests the tools of a target on a temporary connection.
func (s *server) listToolsAt(ctx context.Context, to *target) error {
	once := newLink(s.openTo(to))
	defer once.close()
	session, _, err := once.openSession(ctx)
	if err != nil {
		return err
	}
	_, err = s.listTools(ctx, session)
	return err
}

// rereadCatalog reads the catalog again because a login may have written it. Without a login the
// tools cannot be listed.
func (s *server) rereadCatalog() error {
	if s.Known() {
		return nil
	}
	known, err := readCatalog(s.file, s.fingerprint)
	if err != nil {
		return &Error{Server: s.id, Err: &oauth.LoginError{Server: s.id, Reason: "the tools are listed after a login"}}
	}
	s.setCatalog(known)
	return nil
}

// openSession connects to the server and lists its tools.
func (s *server) openSession(ctx context.Context, running *sync.WaitGroup) (*session, error) {
	began := time.Now()
	c, err := s.connectSession(ctx, s.plainTarget())
	if err != nil {
		return nil, err
	}
	running.Go(func() { c.waitForEnd(s, began) })
	differs, err := s.listTools(c.ctx, c)
	if c.listed = err; err != nil && s.Known() { // else the caller reports it
		s.logger.Warn("listing the tools failed; keeping the known ones", "error", err)
	}
	running.Go(func() { c.followChanges(s, differs) })
	return c, nil
}

// listTools requests the tools within the connect timeout and keeps them. It reports whether they
// differ from the previous ones.
func (s *server) listTools(ctx context.Context, session *session) (differs bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.connectTimeout())
	defer cancel()
	c, err := session.listCatalog(ctx, s.fingerprint)
	if err != nil && errors.Is(err, context.Canceled) && session.isEnding() {
		return false, session.cause
	}
	if err != nil {
		return false, &Error{Server: s.id, Err: session.target.hideSecrets(err)}
	}
	if err := s.checkPins(session, c); err != nil {
		return false, &Error{Server: s.id, Err: session.target.hideSecrets(err)}
	}
	s.warnOfChanges(c)
	if s.file == "" || s.isCurrent(c) { // nothing to keep
		return s.setCatalog(c), nil
	}
	if err := writeCatalog(s.file, c); err != nil {
		s.logger.Warn("writing the catalog failed", "file", s.file, "error", err)
	}
	return s.setCatalog(c), nil
}

// isCurrent reports whether the file already holds a catalog.
func (s *server) isCurrent(now *catalog) bool {
	known := s.currentCatalog()
	if known == nil || known.Server != now.Server || !sameTools(known, now) {
		return false
	}
	_, err := os.Stat(s.file)
	return err == nil
}

// warnOfChanges logs the tools that differ from the known ones.
func (s *server) warnOfChanges(now *catalog) {
	known := s.currentCatalog()
	if known == nil || s.config.changePolicy() == changesAccepted || sameTools(known, now) {
		return
	}
	s.logger.Warn("the server has changed its tools", "changes", listChanges(compareTools(known, now)))
}

// followChanges lists the tools whenever they may have changed, until the session ends. differs
// reports whether the first list did.
func (c *session) followChanges(s *server, differs bool) {
	if differs {
		s.notifyChange(c.ctx)
	}
	for pause := time.Duration(0); c.awaitChanges(&pause); {
		s.relistTools(c.ctx, c)
	}
}

// relistTools lists the tools again after the server announced a change, and notifies the observer.
func (s *server) relistTools(ctx context.Context, session *session) {
	differs, err := s.listTools(ctx, session)
	if err != nil {
		if ctx.Err() == nil {
			s.logger.Warn("listing the changed tools failed", "error", err)
		}
		return
	}
	if differs {
		s.notifyChange(ctx)
	}
}
