package surfacekit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"
)

// IdempotencyHeader names a request, so that it can be repeated without being carried out
// twice.
const IdempotencyHeader = "Idempotency-Key"

// MaxIdempotencyKey bounds the value of the header, in bytes.
const MaxIdempotencyKey = 255

// errKey means that an idempotency key is invalid.
var errKey = fmt.Errorf("the header %s must be given once, with 1 to %d bytes of text", IdempotencyHeader, MaxIdempotencyKey)

// ReadKey returns the service's key for the idempotency key of a request; empty without one. Keys
// differ by surface and kind of request. The error is errKey.
func ReadKey(r *http.Request, surface, kind string) (string, error) {
	values := r.Header.Values(IdempotencyHeader)
	if len(values) == 0 {
		return "", nil
	}
	key := values[0]
	if len(values) > 1 || key == "" || len(key) > MaxIdempotencyKey || !utf8.ValidString(key) || strings.ContainsFunc(key, unicode.IsControl) {
		return "", errKey
	}
	return HashKey(surface, kind+"\x00"+key), nil
}

// HashKey returns the service's idempotency key for a surface's name of a request.
func HashKey(surface, name string) string {
	sum := sha256.Sum256([]byte(name))
	return surface + ":" + hex.EncodeToString(sum[:])
}
