package workflow

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/check"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/spec"
)

// Missed is the policy for times at which a schedule was due and no process was running.
type Missed string

// The policies. Empty means MissedSkip.
const (
	// MissedSkip begins no runs for missed times.
	MissedSkip Missed = "skip"
	// MissedLatest begins one run, for the latest missed time.
	MissedLatest Missed = "latest"
	// MissedAll begins a run for each missed time, oldest first, up to 100.
	MissedAll Missed = "all"
)

// maxMissed is the maximum number of missed times that a schedule catches up on at once.
const maxMissed = 100

// defaultTolerance is how far the time of a signed request may be from ours.
const defaultTolerance = 5 * time.Minute

// Schedule begins a run whenever it is due.
type Schedule struct {
	ID       string          `json:"id,omitempty" doc:"The id of the schedule. Defaults to the workflow's id, for one schedule per workflow."`
	Cron     string          `json:"cron" required:"true" doc:"Five fields (minute, hour, day of the month, month, day of the week), or @hourly, @daily, @every 10m and the like."`
	TimeZone string          `json:"time_zone,omitempty" default:"UTC" doc:"The IANA time zone of cron. When clocks go back, a daily schedule is due once, at the first occurrence; when they skip its time, it is due at the change. An hourly schedule is due in both repeated hours and skips the missing hour."`
	Missed   Missed          `json:"missed,omitempty" enum:"skip|latest|all" default:"skip" doc:"What happens to times missed while no process was running: no run, one run for the latest, or one run for each, at most 100."`
	Paused   bool            `json:"paused,omitempty" doc:"Whether the schedule is paused. It can be resumed over HTTP."`
	Input    json.RawMessage `json:"input,omitempty" doc:"The input of its runs: the value of ${{ input }}."`
}

// EventTrigger begins a run for each published event that it matches.
type EventTrigger struct {
	ID      string `json:"id,omitempty" doc:"The id of the trigger. Defaults to the workflow's id, for one trigger per workflow."`
	Type    string `json:"type" required:"true" doc:"The exact type of the events."`
	Source  string `json:"source,omitempty" doc:"Their exact source. Any if absent."`
	Subject string `json:"subject,omitempty" doc:"Their exact subject. Any if absent."`
	Paused  bool   `json:"paused,omitempty" doc:"Whether the trigger is paused. It can be resumed over HTTP."`
}

// Webhook begins a run for each signed request.
type Webhook struct {
	ID        string         `json:"id,omitempty" doc:"The id of the webhook, which is part of its address. Defaults to the workflow's id."`
	Secret    spec.Template  `json:"secret" required:"true" secret:"true" variables:"tenant" doc:"The secret that signs requests; ${tenant.NAME} is a secret of the workflow's tenant. After the prefix whsec_ it is base64."`
	Previous  spec.Template  `json:"previous_secret,omitempty" secret:"true" variables:"tenant" doc:"An earlier secret, still accepted while senders switch to the new one."`
	Type      string         `json:"type,omitempty" default:"webhook" doc:"The type of the event that a request becomes."`
	Tolerance *spec.Duration `json:"tolerance,omitempty" default:"5m" doc:"Maximum difference between a request's time and the server's. Older requests are rejected as replays."`
	Paused    bool           `json:"paused,omitempty" doc:"Whether the webhook is paused."`
}

// ToleranceTime returns how far the time of a request may be from ours.
func (w *Webhook) ToleranceTime() time.Duration {
	if w.Tolerance == nil {
		return defaultTolerance
	}
	return w.Tolerance.Std()
}

// EventType returns the type of the event that a request becomes.
func (w *Webhook) EventType() string { return cmp.Or(w.Type, "webhook") }

// Matches reports whether the trigger matches an event.
func (t *EventTrigger) Matches(typ, source, subject string) bool {
	return typ == t.Type && (t.Source == "" || source == t.Source) && (t.Subject == "" || subject == t.Subject)
}

// ScheduleID returns the id of a schedule.
func (w *Workflow) ScheduleID(s *Schedule) string { return cmp.Or(s.ID, w.ID) }

// TriggerID returns the id of a trigger.
func (w *Workflow) TriggerID(t *EventTrigger) string { return cmp.Or(t.ID, w.ID) }

// WebhookID returns the id of a webhook.
func (w *Workflow) WebhookID(h *Webhook) string { return cmp.Or(h.ID, w.ID) }

// validateTriggers checks what starts the workflow.
func (w *Workflow) validateTriggers() diag.List {
	var list diag.List
	ids := make(idsOnce)
	for i := range w.Schedules {
		s, path := &w.Schedules[i], diag.Index("schedules", i)
		list = append(list, ids.add(path, "schedule", s.ID)...)
		list = append(list, check.Within(path, s.Validate())...)
	}
	ids = make(idsOnce)
	for i := range w.Events {
		t, path := &w.Events[i], diag.Index("events", i)
		list = append(list, ids.add(path, "trigger", t.ID)...)
		list = append(list, check.Within(path, check.Required("type", t.Type))...)
	}
	ids = make(idsOnce)
	for i := range w.Webhooks {
		h, path := &w.Webhooks[i], diag.Index("webhooks", i)
		list = append(list, ids.add(path, "webhook", h.ID)...)
		list = append(list, check.Within(path, check.Required("secret", string(h.Secret)))...)
		list = append(list, check.Within(path, check.PositiveSpan("tolerance", h.Tolerance))...)
	}
	return list
}

// Validate checks the record by itself.
func (s *Schedule) Validate() diag.List {
	list := append(check.Required("cron", s.Cron), CheckTimes(s.Cron, s.TimeZone)...)
	return append(list, check.OneOf("missed", string(s.Missed), string(MissedSkip), string(MissedLatest), string(MissedAll))...)
}

// idsOnce are the ids of a list, which must be unique. At most one is empty.
type idsOnce map[string]string

// add checks the id of the element at a path.
func (ids idsOnce) add(path, kind, id string) diag.List {
	first, taken := ids[id]
	if !taken {
		ids[id] = path
	}
	switch {
	case id == "" && taken:
		return diag.List{diag.New(diag.MissingField, diag.Join(path, "id"), "id is required: another %s already has none", kind).WithHint("give all but one an id")}
	case id == "":
		return nil
	case taken:
		return diag.List{diag.New(diag.DuplicateID, diag.Join(path, "id"), "%s %q is defined twice", kind, clip.Text(id)).WithHint("the first is %s", first)}
	default:
		return spec.CheckID(diag.Join(path, "id"), kind, id)
	}
}
