package mcp

import (
	"log/slog"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// Kind returns the tool kind mcp.
func Kind() tools.Kind {
	return spec.NewKind("mcp", "The tools of a server that speaks the Model Context Protocol.", newTools)
}

// newTools returns the configured tools. It reads the catalog and contacts no server.
func newTools(s tools.Settings, c *config) (tools.Tool, error) {
	if err := c.Validate().Err(); err != nil {
		return nil, err
	}
	v, err := newServer(&s, c)
	if err != nil {
		return nil, err
	}
	switch {
	case s.PublicOnly:
		err = v.guardAddresses(s.AllowPrivate)
	case v.isForeign:
		err = v.guardAddresses(c.AllowPrivate)
	}
	if err != nil {
		return nil, err
	}
	if err := v.openAuthHTTP(); err != nil {
		return nil, err
	}
	v.file, v.fingerprint = c.catalogFile(&s), c.serverFingerprint(&s)
	known, err := readCatalog(v.file, v.fingerprint)
	if err != nil {
		v.unknown = err
		return v, nil
	}
	v.setCatalog(known)
	return v, nil
}

// newServer returns a server without a catalog.
func newServer(s *tools.Settings, c *config) (*server, error) {
	v := &server{
		id: s.ID, config: c.clone(), logger: s.Logger, secrets: c.secretValues(),
		writeTime: defaultWriteTime, transport: plainTransport, unknown: errNoCatalog,
	}
	if v.logger == nil {
		v.logger = slog.New(slog.DiscardHandler)
	}
	var list diag.List
	v.filter, list = c.Filter.compileFilter()
	v.link = newLink(v.openSession)
	v.refersToTenant, v.isForeign = c.refersToTenant(), c.hasForeignHost()
	v.tenants.most = maxTenants
	return v, list.Err()
}
