package faults_test

import (
	"context"
	"errors"

	"github.com/agentruntime/agentruntime/store"
)

func openSQLite(context.Context, store.Settings) (store.Store, error) {
	return nil, errors.New("not there")
}
