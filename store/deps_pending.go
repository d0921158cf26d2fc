//go:build pending

package store

import (
	_ "github.com/evanphx/json-patch/v5"
	_ "github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/pressly/goose/v3"
	_ "github.com/riverqueue/river"
	_ "github.com/riverqueue/river/riverdriver/riverpgxv5"
	_ "github.com/riverqueue/river/rivermigrate"
	_ "github.com/robfig/cron/v3"
	_ "github.com/wI2L/jsondiff"
	_ "modernc.org/sqlite"
)
