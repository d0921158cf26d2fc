package vendorhttp

import (
	"bufio"
	"context"
	"errors"
	"net"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/model"
)

// failures converts request failures of one provider into the errors that its callers see.
type failures struct {
	// provider is the provider's id.
	provider string
	redactor redactor
}

// named returns err as an *model.Error with the provider's id and without
// secrets.
func (f *failures) named(err error) *model.Error {
	failure := model.AsError(err)
	failure.Provider = f.provider
	failure.Message = f.redactor.clean(failure.Message)
	return failure
}

// ofRequest returns the error for a request without a response. ctx is the caller's: if it has
// ended, that is the reason.
func (f *failures) ofRequest(ctx context.Context, err error) *model.Error {
	timeout, ok := errors.AsType[net.Error](err)
	if ok && timeout.Timeout() {
		return f.wrapError(ctx, err, model.Timeout, "no answer in time: ")
	}
	return f.wrapError(ctx, err, model.Provider, "no answer: ")
}

// ofStream returns the error for an answer that broke off. ctx is the caller's:
// when it ended, that is the reason.
func (f *failures) ofStream(ctx context.Context, err error) *model.Error {
	for _, tooLarge := range []error{bufio.ErrTooLong, errEventTooLarge, errStreamTooLarge} {
		if errors.Is(err, tooLarge) {
			return f.wrapError(ctx, err, model.Provider, "the stream is too large: ")
		}
	}
	return f.wrapError(ctx, err, model.StreamInterrupted, "the connection broke off: ")
}

func (f *failures) wrapError(ctx context.Context, err error, class model.ErrorClass, what string) *model.Error {
	if ctx.Err() != nil {
		return f.named(ctx.Err())
	}
	if failure, ok := errors.AsType[*model.Error](err); ok {
		return failure
	}
	err = redact.WithoutURL(err) // it says nothing new, and may have been the answer's
	return f.named(&model.Error{Class: class, Message: what + err.Error(), Err: err})
}

// InvalidRequest returns the error for a request that cannot be sent. err is the cause, or nil.
func InvalidRequest(what string, err error) error {
	return &model.Error{Class: model.InvalidRequest, Message: what, Err: err}
}

// EncodeRequest returns a request, or a part of one, as JSON.
func EncodeRequest(v any) ([]byte, error) {
	encoded, err := rawjson.Marshal(v)
	if err != nil {
		return nil, InvalidRequest("the request cannot be encoded", err)
	}
	return encoded, nil
}

// Malformed returns the error for an invalid stream. err is the cause, or nil.
func Malformed(what string, err error) *model.Error {
	return &model.Error{Class: model.Provider, Message: "the stream is malformed: " + what, Err: err}
}

// endedEarly returns the error for a stream that ended before its answer.
func endedEarly() *model.Error {
	return &model.Error{Class: model.StreamInterrupted, Message: "the stream ended before the answer did"}
}

// errNotAnAnswer returns the error for a document that holds neither an answer nor an
// error.
func errNotAnAnswer() *model.Error {
	return &model.Error{Class: model.Provider, Message: "the server answered with something else than a stream"}
}
