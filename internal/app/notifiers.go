package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"go.temporal.io/sdk/client"

	"holdpoint/activities"
	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/internal/config"
	"holdpoint/internal/notify"
	"holdpoint/internal/redact"
	"holdpoint/workflows"
)

// outboxPatience bounds waking the one that drains the outbox, and outboxLook is how often somebody looks whether it slept
// through something.
const (
	outboxPatience = 5 * time.Second
	outboxLook     = 30 * time.Second
)

// openNotifiers makes those who tell people and programs.
func (a *App) openNotifiers(cfg *config.Config) error {
	a.notifiers = map[string]activities.Notifier{}
	for _, n := range cfg.Notifiers {
		if n.Kind == config.NotifierSlack {
			a.notifiers[n.Name] = telling{newSlack(n, a.redact)}
			continue
		}
		w, err := notify.NewWebhook(notify.WebhookConfig{URL: n.URL.Reveal(), Secret: n.Secret.Reveal(), Inbox: n.Inbox, Hosts: n.PrivateHosts, Hider: a.redact})
		if err != nil {
			return &config.Error{Problems: []config.Problem{{Pos: n.Pos, Text: fmt.Sprintf("notifier %s: secret: %v", n.Name, err)}}}
		}
		a.notifiers[n.Name] = telling{w}
	}
	return nil
}

func newSlack(n config.Notifier, rules *redact.Rules) *notify.Slack {
	users := map[string]interaction.Principal{}
	for _, u := range n.Users {
		users[u.Slack] = interaction.Principal{ID: interaction.PrincipalID(u.ID), Groups: u.Groups, Roles: []string{api.RoleReviewer}}
	}
	return notify.NewSlack(notify.SlackConfig{Token: n.Token.Reveal(), Signing: n.SigningSecret.Reveal(), Channel: n.Channel, API: n.APIURL,
		Inbox: n.Inbox, Users: users, Hider: rules})
}

// telling is a notifier as the activities know it.
type telling struct {
	to interface {
		Notify(ctx context.Context, m notify.Message) error
	}
}

// Notify tells, and says which refusals are for good.
func (t telling) Notify(ctx context.Context, m activities.Message) error {
	err := t.to.Notify(ctx, notify.Message(m))
	var refused *notify.RefusedError
	if errors.As(err, &refused) {
		return &activities.UndeliverableError{Reason: refused.Reason}
	}
	return err
}

// outbox has a store keep what is to be told, where there is somebody to tell.
func (a *App) outbox(s activities.Store) activities.Store {
	o := activities.Outbox{Store: s, Now: a.o.Now, Wake: func() { go a.wakeOutbox() }}
	for _, n := range a.defs.cfg.Notifiers {
		if n.Kind == config.NotifierCallback {
			o.Callback = n.Name
		} else {
			o.Notifiers = append(o.Notifiers, n.Name)
		}
	}
	if o.Callback == "" && len(o.Notifiers) == 0 {
		return s
	}
	return o
}

// wakeOutbox starts the workflow that drains the outbox, or tells it that there is something new. What fails here is found
// by watchOutbox.
func (a *App) wakeOutbox() {
	ctx, cancel := context.WithTimeout(context.Background(), outboxPatience)
	defer cancel()
	_, err := a.client.SignalWithStartWorkflow(ctx, workflows.NotifyWorkflowID(a.o.TaskQueue), workflows.SignalWake, nil,
		client.StartWorkflowOptions{TaskQueue: a.o.TaskQueue}, workflows.NotifyName)
	if err != nil {
		a.log.Warn("what is to be told waits: the workflow that tells could not be woken", "error", err)
	}
}

// watchOutbox wakes the one that drains the outbox if something is overdue: whoever kept it may have died before it could.
// It returns how to stop it.
func (a *App) watchOutbox() func() error {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(outboxLook)
		defer tick.Stop()
		for {
			due, _, err := a.store.DueNotices(ctx, a.o.Now(), 1)
			if err == nil && len(due) > 0 {
				a.wakeOutbox()
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() error {
		stop()
		<-done
		return nil
	}
}

// slackForm is what Slack sends.
type slackForm struct {
	Payload string `json:"payload" doc:"The interaction payload, as JSON"`
}

// mountSlack takes clicks in Slack.
func (a *App) mountSlack(bridge *api.Server) {
	for _, n := range a.defs.cfg.Notifiers {
		if n.Kind == config.NotifierSlack {
			bridge.MountSigned(api.Route{Pattern: http.MethodPost + " /slack/" + n.Name, ID: "slack-" + n.Name, Summary: "What Slack sends when somebody clicks",
				Description: "For Slack alone, whose signature it must carry, of the last five minutes. What became of the click is told in Slack.",
				Body:        slackForm{}, BodyMedia: "application/x-www-form-urlencoded", RefusedPlain: true, Errors: []int{400, 413}}, newSlack(n, a.redact).Clicks(bridge.AnswerAs))
		}
	}
}

// programs is what a program that asks may name.
type programs struct{ *definitions }

// Policies are the names of the configured policies.
func (p programs) Policies() []string {
	names := make([]string, len(p.cfg.Policies))
	for i, one := range p.cfg.Policies {
		names[i] = one.Name
	}
	slices.Sort(names)
	return names
}

// CheckCallback says what is wrong with an address that is to be told of a decision.
func (p programs) CheckCallback(url string) error {
	i := slices.IndexFunc(p.cfg.Notifiers, func(n config.Notifier) bool { return n.Kind == config.NotifierCallback })
	if i < 0 {
		return errors.New("can't be used: no notifier of kind callback is configured")
	}
	return notify.CheckCallback(url, p.cfg.Notifiers[i].PrivateHosts)
}
