package a2a

import (
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/internal/clip"
)

// queryCheck checks the type of a query parameter.
type queryCheck struct {
	name, want string
	fits       func(value string) bool
}

// queryChecks are the parameters that the SDK parses. It does not mention the invalid ones.
var queryChecks = []queryCheck{
	{"historyLength", "a whole number", parses(strconv.Atoi)},
	{"pageSize", "a whole number", parses(strconv.Atoi)},
	{"includeArtifacts", "true or false", parses(strconv.ParseBool)},
	{"statusTimestampAfter", "a time like " + time.RFC3339, parses(parseTime)},
	{"lastUpdatedAfter", "a time like " + time.RFC3339, parses(parseTime)},
}

// checkQuery returns the reason that a query cannot be decoded.
func checkQuery(method string, q url.Values) *problem {
	if method != "GetTask" && method != "ListTasks" {
		return nil
	}
	for _, c := range queryChecks {
		if value := q.Get(c.name); value != "" && !c.fits(value) {
			message := c.name + " must be " + c.want + ", not " + strconv.Quote(clip.Text(value))
			return &problem{status: http.StatusBadRequest, kind: a2a.ErrInvalidParams, message: message}
		}
	}
	return nil
}

func parseTime(value string) (time.Time, error) { return time.Parse(time.RFC3339, value) }

// parses returns a function that reports whether a value can be parsed.
func parses[T any](parse func(string) (T, error)) func(value string) bool {
	return func(value string) bool {
		_, err := parse(value)
		return err == nil
	}
}
