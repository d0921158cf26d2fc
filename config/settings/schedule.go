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
	Cron     string      `json:"cron" required:"true" doc:"Five fields (minute, hour, day of the month, month, day of the week), or @hourly, @daily, @every 10m and the like. Times missed while no process was running are skipped."`
	TimeZone string      `json:"time_zone,omitempty" default:"UTC" doc:"The IANA time zone of cron. When clocks go back, a daily schedule is due once, at the first occurrence; when they skip its time, it is due at the change. An hourly schedule is due in both repeated hours and skips the missing hour."`
	Agent    string      `json:"agent" required:"true" doc:"The agent that runs the turns."`
	Prompt   spec.Prompt `json:"prompt" required:"true" doc:"The input of each turn."`
	Session  string      `json:"session,omitempty" doc:"The session of all its turns, created if absent, so that each turn sees the earlier ones. If empty, each turn has a new session."`
	Tenant   string      `json:"tenant,omitempty" default:"default" doc:"The tenant that owns the sessions and turns. If the server has no credentials, a schedule without tenant and subject belongs to the subject local of the tenant local, like all callers."`
	Subject  string      `json:"subject,omitempty" default:"schedule" doc:"The subject of the tenant that owns them."`
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
