package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"holdpoint/api"
	"holdpoint/interaction"
	"holdpoint/internal/app"
)

const tokenLong = `A bearer token says who calls the bridge: its principal, with roles and groups. Only its hash is kept, so a
token is shown once, when it is made.

With --config it works on the database that the configuration names, and needs no bridge: so the first token is
made. Otherwise it works through the bridge, with an admin's token.`

func tokenCommand(c *cli) *cobra.Command {
	cmd := &cobra.Command{Use: "token", Short: "Bearer tokens: create, list, revoke, hash", Long: tokenLong, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(tokenCreateCommand(c), tokenListCommand(c), tokenRevokeCommand(c), tokenHashCommand(c))
	return cmd
}

// tokenPlace is where tokens are kept: behind a bridge, or in a database.
type tokenPlace struct {
	remote
	config string
}

func (p *tokenPlace) flags(c *cli, cmd *cobra.Command) {
	p.remote.flags(c, cmd)
	cmd.Flags().StringVar(&p.config, "config", "", "file or directory of YAML components: work on its database, without a bridge")
}

// open opens the database; nil where a bridge is meant.
func (p *tokenPlace) open(ctx context.Context, c *cli) (*app.TokenStore, error) {
	if p.config == "" {
		return nil, nil
	}
	if p.addr != "" || p.profile != "" {
		return nil, usage("--config works on the database, --addr and --profile name a bridge: give one of them")
	}
	return app.OpenTokens(ctx, app.Options{Config: p.config, Data: p.data, Getenv: c.getenv})
}

func tokenCreateCommand(c *cli) *cobra.Command {
	var p tokenPlace
	var id, note, expires string
	var roles, groups []string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "create --id NAME --role ROLE", Short: "Make a token; stdout has it alone, this once", Args: cobra.NoArgs,
		Long: "Makes a token and prints it to stdout, alone and this once; stderr says whose it is. Roles are user (starts runs, sees\n" +
			"their own), reviewer (answers what is addressed to them), admin (sees and controls everything) and act_for (may name\n" +
			"others as the user of a run or the reviewer of an answer; for programs).",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if id == "" || len(roles) == 0 {
				return usage("say whose it is and what they may do: --id NAME --role ROLE")
			}
			life, err := tokenLife(expires)
			if err != nil {
				return err
			}
			out, err := c.createToken(cmd.Context(), &p, api.CreateToken{ID: interaction.PrincipalID(id), Roles: roles, Groups: groups, Note: note}, life)
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(out)
			}
			fmt.Fprintf(c.err, "A token of %s, %s, %s. It is not shown again; its id is %s\n", interaction.Visible(id), strings.Join(roles, ", "), until(out.ExpiresAt), out.TokenID)
			_, err = fmt.Fprintln(c.out, out.Token)
			return err
		},
	}
	p.flags(c, cmd)
	f := cmd.Flags()
	f.StringVar(&id, "id", "", "whose it is")
	f.StringArrayVar(&roles, "role", nil, "what they may do: user, reviewer, admin, act_for; may be repeated")
	f.StringArrayVar(&groups, "group", nil, "a group of theirs; may be repeated")
	endVar(cmd, &expires, "expires", "how long it holds, such as 30d or 12h (default for ever)")
	f.StringVar(&note, "note", "", "what it is for")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func until(t time.Time) string {
	if t.IsZero() {
		return "without end"
	}
	return "until " + t.UTC().Format(time.RFC3339)
}

// tokenLife reads a length of ten years at most; zero is for ever.
func tokenLife(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := interaction.ParseSpan(text)
	if err != nil || d <= 0 || d > 10*365*24*time.Hour {
		return 0, usage("--expires: %q is no time such as 30d or 12h, ten years at most", text)
	}
	return d, nil
}

func (c *cli) createToken(ctx context.Context, p *tokenPlace, b api.CreateToken, life time.Duration) (out api.CreatedToken, err error) {
	db, err := p.open(ctx, c)
	if err != nil {
		return out, err
	}
	if db != nil {
		defer func() { err = errors.Join(err, db.Close()) }()
		var ends time.Time
		if life > 0 {
			ends = c.now().Add(life)
		}
		return db.Create(ctx, interaction.Principal{ID: b.ID, Roles: b.Roles, Groups: b.Groups}, b.Note, ends)
	}
	if life > 0 {
		b.ExpiresIn = life.String()
	}
	cl, err := c.connect(&p.remote)
	if err != nil {
		return out, err
	}
	cl.quick = true // a second try would make a second token
	_, err = cl.do(ctx, call{method: http.MethodPost, path: "/v1/tokens", body: b}, &out)
	return out, err
}

func tokenListCommand(c *cli) *cobra.Command {
	var p tokenPlace
	var id string
	var asJSON bool
	cmd := &cobra.Command{
		Use: "list", Short: "The tokens that are kept, ended ones too, without the tokens themselves", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := c.tokenList(cmd.Context(), &p, id)
			if err != nil {
				return err
			}
			if asJSON {
				return c.printJSON(list)
			}
			w := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "TOKEN ID\tOF\tROLES\tGROUPS\tHOLDS\tNOTE")
			for _, t := range list {
				holds := until(t.ExpiresAt)
				switch {
				case !t.RevokedAt.IsZero():
					holds = "revoked by " + orDash(string(t.RevokedBy))
				case !t.ExpiresAt.IsZero() && !c.now().Before(t.ExpiresAt):
					holds = "expired"
				}
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", t.TokenID, interaction.Visible(string(t.ID)), strings.Join(t.Roles, ","),
					orDash(interaction.Visible(strings.Join(t.Groups, ","))), interaction.Visible(holds), orDash(interaction.Visible(t.Note)))
			}
			return w.Flush()
		},
	}
	p.flags(c, cmd)
	cmd.Flags().StringVar(&id, "id", "", "only those of this principal")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// tokenList reads every page.
func (c *cli) tokenList(ctx context.Context, p *tokenPlace, id string) (list []api.TokenInfo, err error) {
	db, err := p.open(ctx, c)
	if err != nil {
		return nil, err
	}
	page := func(token string) ([]api.TokenInfo, string, error) {
		return db.Tokens(ctx, interaction.PrincipalID(id), 200, token)
	}
	if db != nil {
		defer func() { err = errors.Join(err, db.Close()) }()
	} else {
		cl, err := c.connect(&p.remote)
		if err != nil {
			return nil, err
		}
		page = func(token string) ([]api.TokenInfo, string, error) {
			q := url.Values{"page_size": {"200"}, "page_token": {token}}
			if id != "" {
				q.Set("id", id)
			}
			var out api.TokenList
			_, err := cl.do(ctx, call{method: http.MethodGet, path: "/v1/tokens", query: q}, &out)
			return out.Items, out.NextPageToken, err
		}
	}
	list = []api.TokenInfo{}
	for token := ""; ; {
		some, next, err := page(token)
		if err != nil {
			return nil, err
		}
		if list = append(list, some...); next == "" {
			return list, nil
		}
		token = next
	}
}

func tokenRevokeCommand(c *cli) *cobra.Command {
	var p tokenPlace
	cmd := &cobra.Command{
		Use: "revoke TOKEN_ID", Short: "End a token, at once, at every bridge", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ended, err := c.revokeToken(cmd.Context(), &p, args[0])
			switch {
			case err != nil:
				return err
			case ended:
				_, err = fmt.Fprintln(c.out, "Revoked.")
			default:
				_, err = fmt.Fprintln(c.out, "It had been revoked before.")
			}
			return err
		},
	}
	p.flags(c, cmd)
	return cmd
}

func (c *cli) revokeToken(ctx context.Context, p *tokenPlace, id string) (ended bool, err error) {
	db, err := p.open(ctx, c)
	if err != nil {
		return false, err
	}
	if db != nil {
		defer func() { err = errors.Join(err, db.Close()) }()
		ended, found, err := db.RevokeToken(ctx, id, "", c.now())
		if err == nil && !found {
			err = noToken(id)
		}
		return ended, err
	}
	cl, err := c.connect(&p.remote)
	if err != nil {
		return false, err
	}
	var out api.RevokedToken
	_, err = cl.do(ctx, call{method: http.MethodDelete, path: "/v1/tokens/" + url.PathEscape(id)}, &out)
	if code(err) == api.CodeNotFound {
		err = noToken(id)
	}
	return out.Revoked, err
}

// noToken tells who gave a name, or the token itself, where its id is.
func noToken(id string) error {
	return fmt.Errorf("there is no token %q; `token list` shows the ids of those there are", id)
}

func tokenHashCommand(c *cli) *cobra.Command {
	return &cobra.Command{
		Use: "hash", Short: "The hash of a token on stdin, for a configuration's auth tokens", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			data, err := io.ReadAll(io.LimitReader(c.in, maxProfileBytes))
			if err != nil {
				return err
			}
			token := strings.TrimSpace(string(data))
			if len(token) < 32 || strings.ContainsAny(token, " \t\r\n") {
				return errors.New("stdin must be one token of at least 32 characters; make one with `openssl rand -hex 32`")
			}
			_, err = fmt.Fprintln(c.out, app.HashToken(token))
			return err
		},
	}
}
