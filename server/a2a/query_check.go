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
	parse      func(value string) error
}

// queryChecks are the parameters that the SDK parses. It does not mention the invalid ones.
var queryChecks = []queryCheck{
	{"historyLength", "a whole number", parseNumber},
	{"pageSize", "a whole number", parseNumber},
	{"includeArtifacts", "true or false", parseBool},
	{"statusTimestampAfter", "a time like " + time.RFC3339, parseTime},
	{"lastUpdatedAfter", "a time like " + time.RFC3339, parseTime},
}

// checkQuery returns the reason that a query cannot be decoded.
func checkQuery(method string, q url.Values) *problem {
	if method != "GetTask" && method != "ListTasks" {
		return nil
	}
	for _, c := range queryChecks {
		if value := q.Get(c.name); value != "" && c.parse(value) != nil {
			message := c.name + " must be " + c.want + ", not " + strconv.Quote(clip.Text(value))
			return &problem{status: http.StatusBadRequest, kind: a2a.ErrInvalidParams, message: message}
		}
	}
	return nil
}

func parseNumber(value string) error {
	_, err := strconv.Atoi(value)
	return err
}

func parseBool(value string) error {
	_, err := strconv.ParseBool(value)
	return err
}

func parseTime(value string) error {
	_, err := time.Parse(time.RFC3339, value)
	return err
}
