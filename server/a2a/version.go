package a2a

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/agentruntime/agentruntime/internal/clip"
)

// version is a version of the protocol.
type version = a2a.ProtocolVersion

const (
	v10 = a2a.Version
	v03 = a2av0.Version
)

// majorMinor drops the patch level of a version, which is irrelevant.
func majorMinor(text string) version {
	text = strings.TrimSpace(text)
	major, rest, ok := strings.Cut(text, ".")
	if !ok {
		return version(text)
	}
	minor, _, _ := strings.Cut(rest, ".")
	return version(major + "." + minor)
}

// askedVersion returns the version in a request, as major and minor.
func askedVersion(r *http.Request) version {
	text := r.Header.Get(a2a.SvcParamVersion)
	if text == "" {
		text = queryValue(r.URL.RawQuery, a2a.SvcParamVersion)
	}
	return majorMinor(text)
}

func wrongVersion(asked, spoken version) error {
	text := "version " + clip.Text(string(asked)) + " of the protocol is not supported; use " + string(spoken)
	if asked == "" {
		text = "A2A-Version is required; this server supports " + string(spoken)
	}
	return a2a.NewError(a2a.ErrVersionNotSupported, text)
}

// queryValue returns a query value, ignoring the case of keys.
func queryValue(raw, key string) string {
	values, err := url.ParseQuery(raw)
	if err != nil {
		return ""
	}
	for name := range values {
		if strings.EqualFold(name, key) {
			return values.Get(name)
		}
	}
	return ""
}
