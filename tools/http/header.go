package http

import (
	"errors"
	"maps"
	"net/http"
	"net/textproto"
	"slices"

	"golang.org/x/net/http/httpguts"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/tools"
)

// header is one header of the request.
type header struct {
	// name is in canonical form, configured as it was written.
	name, configured string
	value            template
}

const (
	contentType    = "Content-Type"
	idempotencyKey = "Idempotency-Key"
	userAgent      = "User-Agent"
)

// ownHeaders are headers that only the HTTP client sets, so that a request cannot be read as two
// and the response is always readable.
var ownHeaders = map[string]bool{
	"Accept-Encoding": true, "Connection": true, "Content-Length": true, "Expect": true,
	"Host": true, "Keep-Alive": true, "Proxy-Connection": true, "Te": true,
	"Trailer": true, "Transfer-Encoding": true, "Upgrade": true,
}

// parseHeaders compiles the headers, sorted by name. Its messages do not quote values, which may be
// secret.
func parseHeaders(values map[string]string) ([]header, diag.List) {
	var list diag.List
	headers := make([]header, 0, len(values))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		h, err := parseHeader(name, values[name])
		if err == nil && slices.ContainsFunc(headers, func(other header) bool { return other.name == h.name }) {
			err = errors.New("the header is there twice, in different spellings")
		}
		if err != nil {
			list = append(list, diag.New(diag.InvalidValue, diag.Key("headers", name), "%s", err))
			continue
		}
		headers = append(headers, h)
	}
	return headers, list
}

func parseHeader(name, value string) (header, error) {
	if !httpguts.ValidHeaderFieldName(name) {
		return header{}, errors.New("invalid header name")
	}
	h := header{name: textproto.CanonicalMIMEHeaderKey(name), configured: name}
	if ownHeaders[h.name] {
		return header{}, errors.New("the runtime sends this header itself")
	}
	if !httpguts.ValidHeaderFieldValue(value) {
		return header{}, errors.New("the value has a line break or another control character")
	}
	var err error
	if h.value, err = parseReferring(value); err != nil {
		return header{}, err
	}
	if h.name == contentType {
		return h, checkContentType(h.value)
	}
	return h, nil
}

func checkContentType(value template) error {
	if !value.isLiteral() {
		return errors.New("the content type decides how the body is escaped, so no argument may stand in it")
	}
	if len(value) == 0 || mediaType(value[0].literal) == "" {
		return errors.New("invalid content type")
	}
	return nil
}

// findHeader returns the literal value of a header, "" when it is not configured or
// depends on arguments.
func findHeader(headers []header, name string) string {
	for i := range headers {
		if headers[i].name == name && len(headers[i].value) == 1 {
			return headers[i].value[0].literal
		}
	}
	return ""
}

// setHeaders sets the configured headers. One whose whole value is a missing
// argument is left out.
func setHeaders(to http.Header, headers []header, args tools.Arguments) error {
	for i := range headers {
		h := &headers[i]
		if name := h.value.onlyName(); name != "" && !args.Has(name) {
			continue
		}
		value, err := h.value.appendTo(nil, args, h.escapeValue)
		if err != nil {
			return err
		}
		to[h.name] = []string{string(value)}
	}
	return nil
}

// escapeValue refuses what would end the header: nothing can stand for it there.
func (h *header) escapeValue(dst []byte, name, value string) ([]byte, error) {
	if !httpguts.ValidHeaderFieldValue(value) {
		return nil, inputErrorf("argument %s goes into header %s, it must not contain line breaks or other control characters", name, h.name)
	}
	return append(dst, value...), nil
}
