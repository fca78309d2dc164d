package config

import (
	"encoding/base64"
	"net/url"
	"slices"
	"strings"
)

// NotifierKind says how a notifier tells. The set is closed.
type NotifierKind string

// The kinds of notifiers.
const (
	NotifierWebhook  NotifierKind = "webhook"
	NotifierSlack    NotifierKind = "slack"
	NotifierCallback NotifierKind = "callback"
)

const (
	maxSlackUsers   = 2000
	minWebhookBytes = 24
	maxWebhookBytes = 64
)

// Notifier tells people or programs what waits and what was decided.
type Notifier struct {
	Name          string
	Kind          NotifierKind
	URL           Secret // of a webhook; its path may be a secret
	Secret        Secret // with which webhooks and callbacks are signed
	PrivateHosts  []string
	Token         Secret
	SigningSecret Secret
	Channel       string
	APIURL        string
	Users         []SlackUser
	Inbox         string
	Pos           Pos
}

// SlackUser is who somebody in Slack is here.
type SlackUser struct {
	Slack, ID string
	Groups    []string
}

var (
	webhookOnly  = &when{key: "kind", values: []string{string(NotifierWebhook)}, required: true, why: "is read by kind webhook only"}
	signingKinds = &when{key: "kind", values: []string{string(NotifierWebhook), string(NotifierCallback)}, required: true, why: "is not read by kind slack"}
	slackNeeds   = &when{key: "kind", values: []string{string(NotifierSlack)}, required: true, why: "is read by kind slack only"}
	slackOnly    = &when{key: "kind", values: []string{string(NotifierSlack)}, why: "is read by kind slack only"}
)

var notifierKeys = component("Who is told what waits for people, and what was decided (docs/notifiers.md).", object{keys: []key{
	{name: "kind", shape: shapeChoice, required: true, choices: []string{string(NotifierWebhook), string(NotifierSlack), string(NotifierCallback)},
		doc: "`webhook` posts to an address, `slack` to a channel, `callback` to the addresses that programs give with what they ask; there is one `callback` at most."},
	{name: "url", shape: shapeSecret, when: webhookOnly, doc: "Where it posts to, http or https."},
	{name: "secret", shape: shapeSecret, when: signingKinds, doc: "What it signs with: `whsec_` and 24 to 64 bytes in base64, as the Standard Webhooks specification has it, best as `${NAME}`."},
	{name: "private_hosts", shape: shapeTexts, most: maxListed, when: &when{key: "kind", values: []string{string(NotifierCallback)}, why: "is read by kind callback only"}, defDoc: "none",
		doc: "Hosts with private addresses to which programs may be called back, by http too. All others must be public and https."},
	{name: "token", shape: shapeSecret, when: slackNeeds, doc: "The token of the Slack app's bot, best as `${NAME}`. It needs `chat:write`."},
	{name: "signing_secret", shape: shapeSecret, when: slackNeeds, doc: "The Slack app's signing secret, best as `${NAME}`: who clicks is believed only by it."},
	{name: "channel", shape: shapeText, when: slackNeeds, doc: "The id of the channel that is told."},
	{name: "users", shape: shapeObjects, items: &slackUserKeys, most: maxSlackUsers, when: slackOnly, defDoc: "nobody", doc: "Who somebody in Slack is here; others can't answer there."},
	{name: "api_url", shape: shapeURL, when: slackOnly, defDoc: "Slack's", doc: "Where Slack's API is."},
	{name: "inbox", shape: shapeURL, defDoc: "no links", doc: "The address of the bridge as people reach it, for links."},
}})

var slackUserKeys = object{keys: []key{
	{name: "slack", shape: shapeText, required: true, doc: "Their id in Slack, such as `U012ABCDEF`."},
	{name: "id", shape: shapeText, required: true, doc: "Who they are here."},
	{name: "groups", shape: shapeTexts, most: maxListed, defDoc: "none", doc: "Their groups here."},
}}

func readNotifier(s *section, name string) {
	n := Notifier{Name: name, Pos: s.pos(), Kind: NotifierKind(s.choice("kind")), URL: NewSecret(s.text("url")), Secret: NewSecret(s.text("secret")),
		Token: NewSecret(s.text("token")), SigningSecret: NewSecret(s.text("signing_secret")), Channel: s.text("channel"), APIURL: s.endpoint("api_url"),
		Inbox: s.endpoint("inbox"), PrivateHosts: texts(s.list("private_hosts"))}
	for _, u := range s.each("users", "{slack: U012ABCDEF, id: ada}", &slackUserKeys) {
		one := SlackUser{Slack: u.text("slack"), ID: u.text("id"), Groups: texts(u.list("groups"))}
		if slices.ContainsFunc(n.Users, func(o SlackUser) bool { return o.Slack == one.Slack }) {
			u.reportKey("slack", "is there twice: say once who it is")
		}
		u.finish()
		n.Users = append(n.Users, one)
	}
	if u, err := url.Parse(n.URL.Reveal()); !n.URL.IsZero() && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		s.reportKey("url", "must be an http or https URL")
	}
	if text, ok := strings.CutPrefix(n.Secret.Reveal(), "whsec_"); !n.Secret.IsZero() {
		if key, err := base64.StdEncoding.DecodeString(text); !ok || err != nil || len(key) < minWebhookBytes || len(key) > maxWebhookBytes {
			s.reportKey("secret", "must be whsec_ and %d to %d bytes in base64, as echo whsec_$(openssl rand -base64 32) makes", minWebhookBytes, maxWebhookBytes)
		}
	}
	for i, h := range n.PrivateHosts {
		n.PrivateHosts[i] = strings.ToLower(h)
	}
	another := func(o Notifier) bool { return o.Kind == NotifierCallback }
	if n.Kind == NotifierCallback && slices.ContainsFunc(s.l.config.Notifiers, another) {
		s.reportKey("kind", "there is a notifier of kind callback already: keep one")
	}
	s.l.config.Notifiers = append(s.l.config.Notifiers, n)
}
