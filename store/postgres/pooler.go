package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// connect opens a separate connection and reports whether it leads to a pooler, which reports a
// process ID other than the database's. It assumes that the pooler may change the process between
// transactions, because this cannot be detected.
func connect(ctx context.Context, config *pgx.ConnConfig) (conn *pgx.Conn, pooled bool, err error) {
	conn, err = pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, false, err
	}
	var pid uint32
	if err := conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&pid); err != nil {
		return nil, false, errors.Join(err, conn.Close(ctx))
	}
	return conn, pid != conn.PgConn().PID(), nil
}

// adaptToPooler configures connections for a pooler or a direct server. Behind a pooler, neither
// prepared statements nor settings belong to a connection: statements are planned each time, with
// current statistics, and nothing is set that other clients would inherit.
func adaptToPooler(config *pgxpool.Config, pooled bool) {
	setExecMode(config.ConnConfig, pooled)
	parameters := defaultParameters(config.ConnConfig.RuntimeParams)
	if pooled || parameters == "" {
		return
	}
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, parameters)
		return err
	}
}

// setExecMode selects how statements are executed. The modes without descriptions, which a DSN may
// request because of a pooler, cannot encode all of our parameters.
func setExecMode(config *pgx.ConnConfig, pooled bool) {
	switch config.DefaultQueryExecMode {
	case pgx.QueryExecModeCacheDescribe, pgx.QueryExecModeDescribeExec:
	case pgx.QueryExecModeCacheStatement:
		if pooled {
			config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
		}
	default:
		config.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
}
