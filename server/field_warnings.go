package server

import (
	"net/http"
	"strconv"

	"go.uber.org/zap"
)

// Some protocols require servers to ignore unknown fields, so that newer clients can use older
// servers. Such fields are listed in the Warning header of the response. A field that resembles a
// known one is probably a typo and is also logged.

const (
	// warningHeader has one value for each ignored field of the request.
	warningHeader = "Warning"
	// maxWarnings limits the number of Warning values.
	maxWarnings = 8
)

// WarnUnknownFields lists ignored fields of a request in the header of the
// response, which must not have been sent, and logs the misspelled ones.
func WarnUnknownFields(w http.ResponseWriter, r *http.Request, logger *zap.Logger, unknown []*UnknownFieldError) {
	var misspelled []string
	for _, field := range unknown {
		AddWarning(w.Header(), field.Error())
		if field.Nearest != "" {
			misspelled = append(misspelled, field.Error())
		}
	}
	if len(misspelled) > 0 {
		logger.Warn("misspelled fields of a request ignored", zap.String("request_id", RequestID(r.Context())),
			zap.String("agent", r.PathValue("agent")), zap.Strings("fields", misspelled))
	}
}

// AddWarning adds a text to the Warning header of a response, up to a limit.
func AddWarning(h http.Header, text string) {
	if len(h[warningHeader]) < maxWarnings {
		h.Add(warningHeader, "299 - "+strconv.QuoteToASCII(text))
	}
}
