package admin

import (
	"errors"
	"net/http"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/fleet"
)

// Codes of rejected requests, in addition to the server's.
const (
	codeConflict   = "revision_conflict"
	codeInUse      = "in_use"
	codeWidened    = "widened"
	codeLost       = "lost"
	codeFromFiles  = "configuration_from_files"
	codeNotStored  = "not_stored"
	codeInvalidDoc = "invalid_document"
	codeNoTenants  = "no_tenants"
	codeBroken     = "tenants_break"
	codeNoKey      = "no_encryption_key"
)

// refuse converts a fleet error for callers.
func refuse(err error) error {
	if e, ok := errors.AsType[*fleet.NotFoundError](err); ok {
		return &service.NotFoundError{Kind: e.Kind, ID: e.ID}
	}
	if e, ok := errors.AsType[*fleet.ConflictError](err); ok {
		r := &server.Refusal{Status: http.StatusConflict, Code: codeConflict, Message: e.Error()}
		if e.Current != nil {
			r.Details = server.Details{Revision: e.Current.Number, Hash: e.Current.Hash}
		}
		return r
	}
	if e, ok := errors.AsType[*fleet.InUseError](err); ok {
		return &server.Refusal{Status: http.StatusConflict, Code: codeInUse, Message: e.Error(), Details: server.Details{Kind: e.Kind, ID: e.ID, UsedBy: e.UsedBy}}
	}
	if e, ok := errors.AsType[*fleet.EffectError](err); ok {
		codes := map[fleet.FailOn]string{fleet.FailOnWidened: codeWidened, fleet.FailOnLost: codeLost}
		return &server.Refusal{Status: http.StatusConflict, Code: codes[e.Effect], Message: e.Error()}
	}
	if e, ok := errors.AsType[*fleet.InvalidError](err); ok {
		return &server.Refusal{
			Status: http.StatusBadRequest, Code: codeInvalidDoc, Message: "the document has errors: see the findings", Details: server.Details{Findings: e.Findings},
		}
	}
	if e, ok := errors.AsType[*config.PlainSecretError](err); ok {
		return &server.Refusal{Status: http.StatusBadRequest, Code: codeInvalidDoc, Message: e.Error(), Details: server.Details{Findings: e.Findings()}}
	}
	if e, ok := errors.AsType[*fleet.BrokenTenantsError](err); ok {
		return &server.Refusal{Status: http.StatusConflict, Code: codeBroken, Message: e.Error(), Details: server.Details{Tenants: tenantNames(e.Broken)}}
	}
	switch {
	case errors.Is(err, fleet.ErrNoTenants):
		return &server.Refusal{Status: http.StatusConflict, Code: codeNoTenants, Message: fleet.ErrNoTenants.Error()}
	case errors.Is(err, fleet.ErrFromFiles):
		return &server.Refusal{Status: http.StatusConflict, Code: codeFromFiles, Message: fleet.ErrFromFiles.Error()}
	case errors.Is(err, fleet.ErrNotStored):
		return &server.Refusal{Status: http.StatusConflict, Code: codeNotStored, Message: fleet.ErrNotStored.Error()}
	}
	return err
}

func tenantNames(list []fleet.BrokenTenant) []string {
	names := make([]string, len(list))
	for i := range list {
		names[i] = list[i].Tenant
	}
	return names
}
