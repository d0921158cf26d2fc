package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/agentruntime/agentruntime/store"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// ErrClosed reports that the store was closed.
var ErrClosed = errors.New("the store is closed")

// UnknownOutcomeError reports that the connection was lost during a commit and the database did not
// come back in time to determine the outcome. The turn's events show it.
type UnknownOutcomeError struct {
	TurnID string
	// Cause is why the database could not be queried.
	Cause error
}

// Error names the turn.
func (e *UnknownOutcomeError) Error() string {
	return fmt.Sprintf("outcome of the commit to turn %s unknown: %v", e.TurnID, e.Cause)
}

// Unwrap returns the cause.
func (e *UnknownOutcomeError) Unwrap() error { return e.Cause }

// The SQLSTATEs that the store distinguishes.
const (
	codeUniqueViolation = "23505"
	codeBadText         = "22021"
	codeSerialization   = "40001"
	codeDeadlock        = "40P01"
	codeLockTimeout     = "55P03"
	codeTooManyConns    = "53300"
	codeDiskFull        = "53100"
	codeReadOnly        = "25006"
	codeIO              = "58030"
)

// wrapError adds the operation and its subject to err.
func wrapError(operation, id string, err error) error {
	if err == nil {
		return nil
	}
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		err = store.ErrNotFound
	case errorCode(err) == codeBadText: // stored text was checked, so this was a lookup
		err = store.ErrNotFound
	case notWritten(err):
		err = fmt.Errorf("%w: %w", store.ErrNotWritable, err)
	case isConnectionLost(err):
		err = fmt.Errorf("%w: %w", store.ErrUnavailable, err)
	}
	return fmt.Errorf("%s %s: %w", operation, id, err)
}

// wrapUnreachable adds the operation to an error, and store.ErrUnavailable if the database cannot
// be reached. A database that rejects the user counts as reached.
func wrapUnreachable(operation string, err error) error {
	if isConnectionLost(err) {
		return fmt.Errorf("%s: %w: %w", operation, store.ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w", operation, err)
}

// notWritten reports whether the database rejects writes: its disk is full or failing, or it is
// read-only like a standby. The transaction was rolled back.
func notWritten(err error) bool {
	c := errorCode(err)
	return c == codeDiskFull || c == codeReadOnly || c == codeIO
}

func errorCode(err error) string {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pgErr.Code
	}
	return ""
}

// violatesUnique reports whether an error is the violation of a unique constraint.
func violatesUnique(err error, constraint string) bool {
	pgErr, ok := errors.AsType[*pgconn.PgError](err)
	return ok && pgErr.Code == codeUniqueViolation && pgErr.ConstraintName == constraint
}

// isConflict reports whether the database aborted a transaction in favor of another one.
func isConflict(err error) bool {
	c := errorCode(err)
	return c == codeSerialization || c == codeDeadlock
}

// lockedOut reports whether another transaction held a lock for too long.
func lockedOut(err error) bool { return errorCode(err) == codeLockTimeout }

// isDisconnected reports whether an error is caused by the connection, or by a server that is
// starting or stopping, rather than by the operation. conn is the connection used, or nil.
func isDisconnected(err error, conn *pgx.Conn) bool {
	if err == nil || errors.Is(err, context.Canceled) {
		return false
	}
	if c := errorCode(err); c != "" {
		return isConnectionState(c)
	}
	return conn == nil || conn.IsClosed()
}

// isConnectionState reports whether a SQLSTATE is a connection error, or means a server without
// connections: 57P01 to 57P03 are shutdown, crash and startup.
func isConnectionState(c string) bool {
	return strings.HasPrefix(c, "08") || strings.HasPrefix(c, "57P0") || c == codeTooManyConns
}

// isConnectionLost reports whether an error itself indicates a missing or broken connection.
func isConnectionLost(err error) bool {
	if c := errorCode(err); c != "" {
		return isConnectionState(c)
	}
	_, refused := errors.AsType[*pgconn.ConnectError](err)
	_, broken := errors.AsType[*net.OpError](err)
	return refused || broken || errors.Is(err, io.ErrUnexpectedEOF) || pgconn.SafeToRetry(err)
}
