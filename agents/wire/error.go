package wire

import (
	"cmp"
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

// codes are the status codes of replies with errors.
var codes = map[Status]int{
	StatusOK: 200, StatusCanceled: 499, StatusInvalidArgument: 400, StatusFailedPrecondition: 400, StatusOutOfRange: 400,
	StatusUnauthenticated: 401, StatusPermissionDenied: 403, StatusNotFound: 404, StatusAlreadyExists: 409, StatusAborted: 409,
	StatusResourceExhausted: 429, StatusUnimplemented: 501, StatusUnavailable: 503, StatusDeadlineExceeded: 504,
}

// HTTP returns the status code of a reply with such an error. An unknown status is an internal
// error.
func (s Status) HTTP() int { return cmp.Or(codes[s], 500) }

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
