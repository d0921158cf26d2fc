package client

import (
	"cmp"
	"encoding/json"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// protocolErrors maps JSON-RPC codes to the protocol's errors.
var protocolErrors = map[int]error{
	-32700: a2a.ErrParseError, -32600: a2a.ErrInvalidRequest, -32601: a2a.ErrMethodNotFound,
	-32602: a2a.ErrInvalidParams, -32603: a2a.ErrInternalError,
	-32001: a2a.ErrTaskNotFound, -32002: a2a.ErrTaskNotCancelable, -32003: a2a.ErrPushNotificationNotSupported,
	-32004: a2a.ErrUnsupportedOperation, -32005: a2a.ErrUnsupportedContentType, -32006: a2a.ErrInvalidAgentResponse,
	-32007: a2a.ErrExtendedCardNotConfigured, -32008: a2a.ErrExtensionSupportRequired, -32009: a2a.ErrVersionNotSupported,
}

// DecodeError reads the body of an error: JSON-RPC, REST, or any other, for which err is nil.
func DecodeError(data []byte) (message string, err error) {
	var body struct {
		Error   json.RawMessage `json:"error"`
		Detail  string          `json:"detail"` // of a problem+json
		Title   string          `json:"title"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(data, &body) != nil {
		return "", nil
	}
	var fault struct {
		Code    int               `json:"code"`
		Message string            `json:"message"`
		Details []json.RawMessage `json:"details"`
	}
	if isSet(body.Error) && json.Unmarshal(body.Error, &fault) == nil {
		err = cmp.Or(protocolErrors[fault.Code], errorOfReason(fault.Details))
	}
	return CleanText(cmp.Or(fault.Message, body.Detail, body.Message, body.Title), MaxShown), err
}

// errorOfReason returns the error that the details of a REST error name.
func errorOfReason(details []json.RawMessage) error {
	for _, raw := range details {
		var info struct {
			Reason string `json:"reason"`
			Domain string `json:"domain"`
		}
		if json.Unmarshal(raw, &info) != nil || info.Domain != a2a.ProtocolDomain {
			continue
		}
		for _, err := range protocolErrors {
			if a2a.ErrorReason(err) == info.Reason {
				return err
			}
		}
	}
	return nil
}
