package settings

import (
	"cmp"
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/spec"
)

// The owner of the turns of a schedule that names no owner.
const (
	DefaultTenant          = "default"
	defaultScheduleSubject = "schedule"
)

// LocalOwner is the tenant and the subject of all callers of a server without credentials.
const LocalOwner = "local"

// Schedule creates a turn whenever it is due.
type Schedule struct {
	ID       string      `json:"id" key:"true"`
	Cron     string      `json:"cron" required:"true" doc:"When: five fields (minute, hour, day of the month, month, day of the week), or @hourly, @daily, @every 10m and the like. Times missed while no process was running are skipped."`
	TimeZone string      `json:"time_zone,omitempty" default:"UTC" doc:"The IANA name of the time zone that cron is read in. Where clocks go back, a daily schedule is due once, the first time; where they go forward over its time, it is due at that moment. An hourly one is due in both repeated hours, and skips the missing one."`
	Agent    string      `json:"agent" required:"true" doc:"The agent that works on the turns."`
	Prompt   spec.Prompt `json:"prompt" required:"true" doc:"The input of each turn."`
	Session  string      `json:"session,omitempty" doc:"The session of all its turns, created if it does not exist, so that each turn sees the earlier ones. Without it each turn has a new session."`
	Tenant   string      `json:"tenant,omitempty" default:"default" doc:"The tenant that the sessions and turns belong to. Without credentials for the server, a schedule that names neither tenant nor subject belongs to the subject local of the tenant local, as all callers do."`
	Subject  string      `json:"subject,omitempty" default:"schedule" doc:"The subject of the tenant that they belong to."`
}

// Owner returns the tenant and subject that own the turns on a server.
func (s *Schedule) Owner(at *Server) (tenant, subject string) {
	if s.Tenant == "" && s.Subject == "" && !at.Authenticated() {
		return LocalOwner, LocalOwner
	}
	return cmp.Or(s.Tenant, DefaultTenant), cmp.Or(s.Subject, defaultScheduleSubject)
}

// Validate checks the record by itself. cron and time_zone are checked where they are parsed.
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
