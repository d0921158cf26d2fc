package server

import (
	"net/http"
	"strconv"

	"go.uber.org/zap"
)

// Protocols may want fields that a server does not know to be ignored, so that newer
// clients can use older servers. Such fields are named in the header of the answer.
// One that looks like a field of the protocol is probably a mistake, and logged too.

const (
	// warningHeader has a value for each field of the request that has no effect.
	warningHeader = "Warning"
	// maxWarnings bounds its values.
	maxWarnings = 8
)

// WarnUnknownFields names fields of a request that are ignored in the header of the
// answer, which must not have been sent, and logs the misspelt ones.
func WarnUnknownFields(w http.ResponseWriter, r *http.Request, logger *zap.Logger, unknown []*UnknownFieldError) {
	var misspelt []string
	for _, field := range unknown {
		AddWarning(w.Header(), field.Error())
		if field.Nearest != "" {
			misspelt = append(misspelt, field.Error())
		}
	}
	if len(misspelt) > 0 {
		logger.Warn("misspelt fields of a request ignored", zap.String("request_id", RequestID(r.Context())),
			zap.String("agent", r.PathValue("agent")), zap.Strings("fields", misspelt))
	}
}

// AddWarning adds a text to the warnings in the header of an answer, unless there are
// many already.
func AddWarning(h http.Header, text string) {
	if len(h[warningHeader]) < maxWarnings {
		h.Add(warningHeader, "299 - "+strconv.QuoteToASCII(text))
	}
}
