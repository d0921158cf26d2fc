package wire

import (
	"encoding/json"
	"strings"
)

// Status classifies an error.
type Status string

// The statuses of errors.
const (
	StatusOK                 Status = "OK"
	StatusCanceled           Status = "CANCELLED"
	StatusUnknown            Status = "UNKNOWN"
	StatusInvalidArgument    Status = "INVALID_ARGUMENT"
	StatusDeadlineExceeded   Status = "DEADLINE_EXCEEDED"
	StatusNotFound           Status = "NOT_FOUND"
	StatusAlreadyExists      Status = "ALREADY_EXISTS"
	StatusPermissionDenied   Status = "PERMISSION_DENIED"
	StatusUnauthenticated    Status = "UNAUTHENTICATED"
	StatusResourceExhausted  Status = "RESOURCE_EXHAUSTED"
	StatusFailedPrecondition Status = "FAILED_PRECONDITION"
	StatusAborted            Status = "ABORTED"
	StatusOutOfRange         Status = "OUT_OF_RANGE"
	StatusUnimplemented      Status = "UNIMPLEMENTED"
	StatusInternal           Status = "INTERNAL"
	StatusUnavailable        Status = "UNAVAILABLE"
	StatusDataLoss           Status = "DATA_LOSS"
)

// HTTP returns the status code of a reply with such an error. An unknown status is an internal
// error.
func (s Status) HTTP() int {
	switch s {
	case StatusOK:
		return 200
	case StatusCanceled:
		return 499
	case StatusInvalidArgument, StatusFailedPrecondition, StatusOutOfRange:
		return 400
	case StatusUnauthenticated:
		return 401
	case StatusPermissionDenied:
		return 403
	case StatusNotFound:
		return 404
	case StatusAlreadyExists, StatusAborted:
		return 409
	case StatusResourceExhausted:
		return 429
	case StatusUnimplemented:
		return 501
	case StatusUnavailable:
		return 503
	case StatusDeadlineExceeded:
		return 504
	default:
		return 500
	}
}

// StatusOfHTTP returns the status of a reply by its status code.
func StatusOfHTTP(code int) Status {
	for _, status := range []Status{
		StatusInvalidArgument, StatusUnauthenticated, StatusPermissionDenied, StatusNotFound, StatusAborted,
		StatusResourceExhausted, StatusCanceled, StatusUnimplemented, StatusUnavailable, StatusDeadlineExceeded,
	} {
		if status.HTTP() == code {
			return status
		}
	}
	switch {
	case code == 204, code == 405:
		return StatusNotFound
	case code >= 400 && code < 500:
		return StatusInvalidArgument
	default:
		return StatusInternal
	}
}

// Label returns the status as words, such as "failed precondition": the text of an
// error whose own text must not leave the server.
func (s Status) Label() string {
	return strings.ToLower(strings.ReplaceAll(string(s), "_", " "))
}

// Error is an error as clients see it.
type Error struct {
	Status  Status          `json:"status"`
	Message string          `json:"message"`
	Details json.RawMessage `json:"details,omitempty"`
}

// Error returns the status and the message.
func (e *Error) Error() string { return string(e.Status) + ": " + e.Message }
