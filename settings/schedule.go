package settings

import (
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/spec"
)

// The owner of the turns of a schedule that names none.
const (
	DefaultTenant          = "default"
	defaultScheduleSubject = "schedule"
)

// Schedule makes a turn whenever it is due.
type Schedule struct {
	ID       string      `json:"id" key:"true"`
	Cron     string      `json:"cron" required:"true" doc:"When: five fields (minute, hour, day of the month, month, day of the week), or @hourly, @daily, @every 10m and the like. Times missed while no process was running are skipped."`
	TimeZone string      `json:"time_zone,omitempty" default:"UTC" doc:"The IANA name of the time zone that cron is read in. Where clocks are put forward, what is due in the hour left out is skipped that day."`
	Agent    string      `json:"agent" required:"true" doc:"The agent that works on the turns."`
	Prompt   spec.Prompt `json:"prompt" required:"true" doc:"What each turn is given."`
	Session  string      `json:"session,omitempty" doc:"The session of all its turns, created if it does not exist, so that each turn sees the ones before. Without it each turn has a session of its own."`
	Tenant   string      `json:"tenant,omitempty" default:"default" doc:"The tenant that the sessions and turns belong to."`
	Subject  string      `json:"subject,omitempty" default:"schedule" doc:"The subject of the tenant that they belong to."`
}

// Owner returns the tenant and the subject that the turns belong to.
func (s *Schedule) Owner() (tenant, subject string) {
	tenant, subject = s.Tenant, s.Subject
	if tenant == "" {
		tenant = DefaultTenant
	}
	if subject == "" {
		subject = defaultScheduleSubject
	}
	return tenant, subject
}

// Validate checks the record by itself. Whether cron and time_zone can be read
// is checked where they are read.
func (s *Schedule) Validate() diag.List {
	list := check.Required("cron", s.Cron)
	list = append(list, check.Required("agent", s.Agent)...)
	if strings.TrimSpace(string(s.Prompt)) == "" {
		list = append(list, diag.New(diag.MissingField, "prompt", "prompt is empty"))
	}
	if s.Session != "" {
		list = append(list, spec.CheckID("session", "session", s.Session)...)
	}
	return list
}
