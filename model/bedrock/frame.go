package bedrock

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

// exceptionMark is the prefix of the names of exception events.
const exceptionMark = "exception:"

// The sizes of a message, in bytes. The SDK's decoder has no limit.
const (
	preludeLength = 8
	leastLength   = 16
	mostLength    = 16 << 20
)

// decodeFrame reads one message of a stream. The name of an exception or error begins
// with exceptionMark.
func decodeFrame(in *bufio.Reader, into *vendorhttp.ServerEvent) error {
	if err := checkPrelude(in); err != nil {
		return err
	}
	message, err := eventstream.NewDecoder().Decode(in, into.Data[:0])
	var checksum eventstream.ChecksumError
	switch {
	case errors.Is(err, io.EOF):
		return io.ErrUnexpectedEOF
	case errors.As(err, &checksum):
		return vendorhttp.Malformed(err.Error(), err)
	case err != nil:
		return err
	}
	header := func(name string) string {
		if value := message.Headers.Get(name); value != nil {
			return value.String()
		}
		return ""
	}
	into.Data = message.Payload
	switch header(":message-type") {
	case "exception":
		into.Name = append(into.Name[:0], exceptionMark+header(":exception-type")...)
	case "error":
		into.Name = append(into.Name[:0], exceptionMark+header(":error-code")...)
		into.Data = fmt.Appendf(into.Data[:0], `{"message":%q}`, header(":error-message"))
	default:
		into.Name = append(into.Name[:0], header(":event-type")...)
	}
	return nil
}

// checkPrelude checks the lengths at the start of the next message. At the end of the stream it
// returns io.EOF.
func checkPrelude(in *bufio.Reader) error {
	prelude, err := in.Peek(preludeLength)
	switch {
	case errors.Is(err, io.EOF) && len(prelude) > 0:
		return io.ErrUnexpectedEOF
	case err != nil:
		return err
	}
	length, headers := binary.BigEndian.Uint32(prelude), binary.BigEndian.Uint32(prelude[4:])
	switch {
	case length > mostLength:
		return &model.Error{Class: model.Provider, Message: fmt.Sprintf("the stream is too large: a message of %d bytes", length)}
	case length < leastLength || headers > length-leastLength:
		return vendorhttp.Malformed("the lengths of a message contradict each other", nil)
	}
	return nil
}
