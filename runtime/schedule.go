package runtime

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/google/uuid"
	"github.com/robfig/cron/v3"
	"go.uber.org/zap"
)

// Schedule makes a turn whenever it is due. Several processes may have the same
// schedule: each due time gives one turn. What became due while no process ran
// is not made up for.
type Schedule struct {
	// ID names the schedule; its turns have it in their metadata.
	ID string
	// Cron says when, in five fields, or as @hourly, @daily, @every 10m and the
	// like.
	Cron string
	// TimeZone is an IANA name; empty is UTC.
	TimeZone string
	AgentID  string
	// Input is what each turn works on.
	Input []model.Message
	// SessionID is the session of all its turns, which is made when there is
	// none; empty makes one for each turn.
	SessionID string
	// Owner owns the sessions and turns.
	Owner Caller
}

// clock is a schedule that runs.
type clock struct {
	Schedule
	when cron.Schedule
	zone *time.Location
}

// CheckSchedule reports what is wrong with the times of a schedule.
func CheckSchedule(expression, timeZone string) error {
	_, err := newClock(&Schedule{Cron: expression, TimeZone: timeZone})
	return err
}

func newClock(s *Schedule) (*clock, error) {
	zone, err := time.LoadLocation(s.TimeZone)
	if err != nil {
		return nil, fmt.Errorf("time zone %q: %w", s.TimeZone, err)
	}
	if strings.HasPrefix(s.Cron, "TZ=") || strings.HasPrefix(s.Cron, "CRON_TZ=") {
		return nil, fmt.Errorf("cron %q: the time zone is a field of its own", s.Cron)
	}
	when, err := cron.ParseStandard(s.Cron)
	if err != nil {
		return nil, fmt.Errorf("cron %q: %w", s.Cron, err)
	}
	return &clock{Schedule: *s, when: when, zone: zone}, nil
}

// clocks returns the schedules, ready to run.
func (s *Service) clocks() ([]*clock, error) {
	list := make([]*clock, 0, len(s.Schedules))
	for i := range s.Schedules {
		c, err := newClock(&s.Schedules[i])
		if err != nil {
			return nil, fmt.Errorf("schedule %s: %w", s.Schedules[i].ID, err)
		}
		list = append(list, c)
	}
	return list, nil
}

// run makes turns until the service is closed or drained.
func (c *clock) run(s *Service) {
	for {
		due := c.when.Next(s.now().In(c.zone))
		if due.IsZero() {
			return
		}
		timer := time.NewTimer(due.Sub(s.now()))
		select {
		case <-timer.C:
		case <-s.ctx.Done():
			timer.Stop()
			return
		}
		if s.draining.Load() {
			return
		}
		if err := c.fire(s.ctx, s, due); err != nil {
			s.complain(s.ctx, "a schedule made no turn", err, zap.String("schedule", c.ID), zap.Time("due", due))
		}
	}
}

// fire makes the turn of a due time. The keys see to it that there is one, whoever
// else fires.
func (c *clock) fire(ctx context.Context, s *Service, due time.Time) error {
	at := due.UTC().Format(time.RFC3339)
	key := "schedule/" + c.ID + "/" + at
	session := CreateSession{ID: c.SessionID, AgentID: c.AgentID, IdempotencyKey: "schedule/" + c.ID, Labels: map[string]string{"schedule": c.ID}}
	if c.SessionID == "" {
		session.ID, session.IdempotencyKey = uuid.NewSHA1(uuid.NameSpaceURL, []byte(key)).String(), key
	}
	made, err := s.CreateSession(ctx, c.Owner, session)
	if err != nil {
		if made, err = s.GetSession(ctx, c.Owner, session.ID); err != nil {
			return err
		}
	}
	metadata, err := json.Marshal(map[string]string{"schedule": c.ID, "due": at})
	if err != nil {
		return err
	}
	_, err = s.CreateTurn(ctx, c.Owner, CreateTurn{
		SessionID: made.ID, AgentID: c.AgentID, Input: c.Input, Metadata: metadata, Background: true, IdempotencyKey: key,
	})
	return err
}
