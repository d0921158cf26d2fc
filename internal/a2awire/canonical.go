package a2awire

import (
	"encoding/json"

	"github.com/gowebpki/jcs"
)

// CanonicalWithoutEmpty returns JSON in the canonical form of RFC 8785, without empty members:
// some libraries encode absent protocol fields as empty ones, and a signature must be valid for
// both.
func CanonicalWithoutEmpty(data []byte) ([]byte, error) {
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return nil, err
	}
	data, err := json.Marshal(pruneEmpty(value))
	if err != nil {
		return nil, err
	}
	return jcs.Transform(data)
}

// pruneEmpty removes empty members from a value; it returns nil if nothing remains.
func pruneEmpty(value any) any {
	switch v := value.(type) {
	case string:
		if v == "" {
			return nil
		}
	case []any:
		kept := v[:0]
		for _, e := range v {
			if e = pruneEmpty(e); e != nil {
				kept = append(kept, e)
			}
		}
		if len(kept) == 0 {
			return nil
		}
		return kept
	case map[string]any:
		for name, e := range v {
			if e = pruneEmpty(e); e == nil {
				delete(v, name)
			} else {
				v[name] = e
			}
		}
		if len(v) == 0 {
			return nil
		}
	}
	return value
}
