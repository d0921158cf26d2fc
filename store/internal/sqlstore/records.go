package sqlstore

import (
	"errors"

	"github.com/agentruntime/agentruntime/store"
)

// Records implements the shared parts of a store.Store. A store embeds it.
type Records struct {
	*core
	sessionRecords
	turnRecords
	revisionRecords
	tenantRecords
	workflowRecords
	webhookRecords
}

// New returns the records of a database.
func New(db Database) Records {
	wrapError := db.WrapError
	db.WrapError = func(operation, subject string, err error) error {
		if errors.Is(err, store.ErrCursor) {
			return err // the caller's mistake, whatever it lists
		}
		return wrapError(operation, subject, err)
	}
	c := &core{db: db, dialect: db.Dialect}
	return Records{c, sessionRecords{c}, turnRecords{c}, revisionRecords{c}, tenantRecords{c}, workflowRecords{c}, webhookRecords{c}}
}
